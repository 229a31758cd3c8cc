"""Kafka's clients as this sink uses them: their settings, and what their errors mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.brokers import quiet_log
from penstock.sinks.kafka.names import transactional_id

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer
    from confluent_kafka.admin import AdminClient

    from penstock.sinks.kafka import Topic

QUICK = {"retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "enable.sparse.connections": False}
"""A producer lives for one transaction only: it must find its coordinator at once, not at the next tick of a timer."""
QUEUE_BYTES = 256 * 2**20
"""Most bytes that wait inside the client; beyond it, producing waits for the broker."""


@dataclass(frozen=True)
class Sending:
    """How records are sent: the sinks of a cluster share one producer."""

    compression: str = "zstd"
    linger_seconds: float = 0.005
    timeout_seconds: float = 60.0

    @classmethod
    def of(cls, sinks: Mapping[str, Topic]) -> Sending:
        """One producer for all: the longest time any of them asks for. (The preflight checks that they agree.)"""
        if not sinks:
            return cls()
        return cls(
            compression=next(iter(sinks.values())).compression,
            linger_seconds=max(sink.linger.seconds for sink in sinks.values()),
            timeout_seconds=max(sink.timeout.seconds for sink in sinks.values()),
        )


@dataclass(frozen=True)
class Client:
    """Makes clients of one cluster. `settings` are those of librdkafka, for the security of the connection."""

    bootstrap: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    def admin(self) -> AdminClient:
        from confluent_kafka.admin import AdminClient

        return AdminClient({**self._base(), "socket.timeout.ms": 10_000}, logger=quiet_log())

    def consumer(self, group: str) -> Consumer:
        """For the markers of a group: it joins nothing, and reads no record. Only what is decided counts."""
        from confluent_kafka import Consumer

        own = {"group.id": group, "enable.auto.commit": False, "isolation.level": "read_committed"}
        return Consumer({**self._base(), **QUICK, **own}, logger=quiet_log())

    def transaction(self, app: str, sending: Sending, limits: Mapping[str, int]) -> Producer:
        """A producer for one transaction. It needs no word of each record: one that fails makes the commit fail."""
        timeout = {"transaction.timeout.ms": int(sending.timeout_seconds * 1000)}
        return self._producer({"transactional.id": transactional_id(app), **timeout}, sending, limits)

    def sender(self, sending: Sending, limits: Mapping[str, int], failed: Callable[..., None]) -> Producer:
        """A producer without transactions. `failed` hears of every record that could not be sent, and of no other.

        Nor is it idempotent: that has errors which end the client, and confluent-kafka raises those into whatever
        callback comes next. One request at a time keeps the order.
        """
        own = {
            "message.timeout.ms": int(sending.timeout_seconds * 1000),
            "max.in.flight.requests.per.connection": 1,
            "delivery.report.only.error": True,
            "on_delivery": failed,
        }
        return self._producer(own, sending, limits)

    def _producer(self, own: Mapping[str, Any], sending: Sending, limits: Mapping[str, int]) -> Producer:
        from confluent_kafka import Producer

        settings = {
            **self._base(),
            **QUICK,
            "acks": "all",
            "partitioner": "murmur2_random",  # as Java's: the same key always finds the same partition
            "compression.type": sending.compression,
            "linger.ms": sending.linger_seconds * 1000,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": QUEUE_BYTES // 1024,
            **_sizes(limits),
            **own,
        }
        return Producer(settings, logger=quiet_log())

    def _base(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, "log_level": 0, **self.settings}


def _sizes(limits: Mapping[str, int]) -> dict[str, int]:
    """No record larger than the largest topic takes; no batch of several larger than the smallest does.

    The broker's limit is on a whole batch of records, and the client does not cut a batch that was refused.
    """
    if not limits:
        return {}
    largest, smallest = max(limits.values()), min(limits.values())
    return {"message.max.bytes": min(max(1_000, largest), 10**9), "batch.size": max(1, min(1_000_000, smallest))}


def cause_of(error: BaseException) -> KafkaError:
    """Kafka's own error inside an exception of the client."""
    cause: KafkaError = error.args[0]
    return cause
