"""Before the first batch: would the cluster take what the pipeline will send? Everything that stands in the way."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.errors import SinkRefused
from penstock.sinks.kafka.client import cause_of
from penstock.sinks.kafka.names import DEAD_LETTERS, MARKERS

if TYPE_CHECKING:
    from penstock.sinks.kafka.committer import KafkaCommitter

LEADER_SECONDS = 30.0
LEAST_BYTES = 10_000
"""A dead-letter topic must take at least the reason, whatever becomes of the record."""


class Preflight:
    """The comparison of what the sinks of a cluster want with what it allows."""

    def __init__(self, committer: KafkaCommitter) -> None:
        self.of, self.directory = committer, committer.directory
        self.where = f"{committer.pipeline}, topics on {committer.client.bootstrap}"

    def check(self) -> list[str]:
        """Warnings. Raises SinkRefused with everything that would go wrong."""
        self.directory.forget()
        for sink, topic in self._fixed().items():
            self.directory.must_have(sink, topic)
        self._markers()
        wrong = [*self._agree(), *self._time(), *self._safety(), *self._permissions()]
        if wrong:
            raise SinkRefused(
                f"{self.where}: " + "\n  ".join(wrong), data="Nothing was written, and nothing could have been."
            )
        return [f"{self.where}: {warning}" for warning in self._warnings()]

    def _fixed(self) -> dict[str, str]:
        """The topics that are known by name."""
        dead = {DEAD_LETTERS: self.of.dead_letters} if self.of.dead_letters else {}
        return {**dead, **{name: sink.topic for name, sink in self.of.options.items() if sink.topic is not None}}

    def _agree(self) -> Iterator[str]:
        kinds = {sink.compression for sink in self.of.options.values()}
        if len(kinds) > 1:
            yield (
                f"the sinks of one cluster are sent in one transaction, by one producer, and ask for "
                f"{' and '.join(sorted(kinds))}. Give them the same `compression`."
            )

    def _time(self) -> Iterator[str]:
        """The transaction must be allowed to last as long as the sinks ask for."""
        allowed = (self.directory.broker_settings() or {}).get("transaction.max.timeout.ms")
        asked = int(self.of.sending.timeout_seconds * 1000)
        if self.of.exact and allowed is not None and int(allowed) < asked:
            yield (
                f"`timeout` asks for transactions of {asked / 1000:g} seconds, and the brokers allow "
                f"{int(allowed) / 1000:g} (transaction.max.timeout.ms). Lower the one or raise the other."
            )

    def _safety(self) -> Iterator[str]:
        replicas = self.directory.topics()
        for sink, topic in self._fixed().items():
            facts = self.directory.facts([topic])[topic]
            if facts.min_insync is not None and facts.min_insync > replicas[topic]:
                yield (
                    f"topic {topic} wants {facts.min_insync} replicas in sync (min.insync.replicas) and has "
                    f"{replicas[topic]}: no record would be taken. Lower the one, or add replicas."
                )
            if sink == DEAD_LETTERS and facts.max_bytes < LEAST_BYTES:
                yield (
                    f"dead-letter topic {topic} takes records of {facts.max_bytes:,} bytes (max.message.bytes): too "
                    f"little for the reason of a reject. Allow at least {LEAST_BYTES:,}."
                )

    def _permissions(self) -> Iterator[str]:
        """What the brokers say we may do, where they say it."""
        allowed = self.directory.operations([*self._fixed().values(), MARKERS])
        for topic, needed in {**dict.fromkeys(self._fixed().values(), "WRITE"), MARKERS: "READ"}.items():
            may = allowed.get(topic)
            if may is not None and needed not in may:
                yield (
                    f"the permission {needed.title()} on topic {topic} is missing. Grant it:  kafka-acls "
                    f"--bootstrap-server {self.of.client.bootstrap} --add --allow-principal User:... "
                    f"--operation {needed.title()} --topic {topic}"
                )

    def _warnings(self) -> Iterator[str]:
        if self.directory.broker_settings() is None:
            yield "the permission DescribeConfigs on the cluster is missing: the brokers' limits are taken on trust."
        replicas = self.directory.topics()
        for topic in sorted(set(self._fixed().values())):
            facts = self.directory.facts([topic])[topic]
            if facts.min_insync is None:
                yield (
                    f"the permission DescribeConfigs on topic {topic} is missing: records of more than "
                    f"{facts.max_bytes:,} bytes are rejected, whatever the topic allows."
                )
            elif facts.min_insync == 1 < replicas[topic]:
                yield (
                    f"topic {topic} has {replicas[topic]} replicas and min.insync.replicas=1: a record that is on one "
                    "broker only counts as written, and is lost with it. Set it to 2."
                )

    def _markers(self) -> None:
        """Make the topic of the markers, if it is missing and we may."""
        from confluent_kafka import KafkaException

        if MARKERS in self.directory.topics():
            return
        try:
            self.directory.create(MARKERS)
        except KafkaException as error:
            if cause_of(error).name() != "TOPIC_ALREADY_EXISTS":
                raise SinkRefused(
                    f"{self.where}: the topic {MARKERS} is missing and cannot be created: {cause_of(error).str()}",
                    data="Nothing was written. It holds no records: only the marker of each pipeline hangs on it.",
                    remedy=f"Create it:  kafka-topics --bootstrap-server {self.of.client.bootstrap} --create --topic "
                    f"{MARKERS} --partitions 1",
                ) from error
        deadline = time.monotonic() + LEADER_SECONDS
        while MARKERS not in self.directory.topics(0) and time.monotonic() < deadline:
            time.sleep(0.05)
