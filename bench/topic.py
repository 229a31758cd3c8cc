"""The topic of the main job: payments, a few of them broken, and where each broken one lies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException, Producer

from penstock.dev.kafka import ensure_topic
from penstock.dev.payments import payments

TOPIC = "payments"
PARTITIONS = 4
BAD_SHARE = 0.001


@dataclass
class Truth:
    """What was produced."""

    events: int
    bad: dict[tuple[int, int], str] = field(default_factory=dict)
    """The code that the broken record at this partition and offset deserves."""

    @property
    def good(self) -> int:
        return self.events - len(self.bad)


def fill(bootstrap: str, events: int) -> Truth:
    """Create the topic and write the events, keyed by customer."""
    ensure_topic(bootstrap, TOPIC, PARTITIONS)
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 50, "log_level": 0})
    truth = Truth(events)
    for event in payments(events, bad_share=BAD_SHARE):
        _send(producer, event.value, event.key, _booking(truth, event.code) if event.code else _delivered)
    producer.flush()
    return truth


def _booking(truth: Truth, code: str) -> Any:
    def delivered(error: Any, record: Any) -> None:
        _delivered(error, record)
        truth.bad[record.partition(), record.offset()] = code

    return delivered


def _delivered(error: Any, _record: Any) -> None:
    if error is not None:
        raise KafkaException(error)


def _send(producer: Producer, value: bytes | None, key: bytes, told: Any) -> None:
    while True:
        try:
            producer.produce(TOPIC, value, key, on_delivery=told)
        except BufferError:
            producer.poll(0.1)
        else:
            producer.poll(0)
            return
