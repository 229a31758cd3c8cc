"""The topics of a cluster: which there are, how large a record each takes, how safely each keeps it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.choice import did_you_mean
from penstock.errors import SinkRefused, Unavailable
from penstock.sinks.kafka.client import Client, cause_of

if TYPE_CHECKING:
    from confluent_kafka.admin import ConfigResource

FRESH_SECONDS = 10.0
"""How old the list of topics may be."""
LIMITS_SECONDS = 300.0
"""How old a topic's limit may be. A limit lowered since makes a transaction fail, and then it is read again."""
CAUTIOUS_BYTES = 1_000_000
"""A topic's limit where it cannot be read; Kafka's own default is slightly more."""
ANSWER_SECONDS = 10.0


@dataclass(frozen=True)
class Facts:
    """A topic as its configuration describes it."""

    max_bytes: int
    min_insync: int | None
    """None where the configuration cannot be read."""


class Directory:
    """What the cluster says of its topics, kept for a while."""

    def __init__(self, client: Client) -> None:
        self.bootstrap, self._admin = client.bootstrap, client.admin()
        self._listed = self._described = float("-inf")
        self._replicas: dict[str, int] = {}
        self._facts: dict[str, Facts] = {}
        self.cluster_id = ""
        self.topics(0)

    def topics(self, age: float = FRESH_SECONDS) -> dict[str, int]:
        """Every topic that can be written to, and how many replicas it has."""
        from confluent_kafka import KafkaException

        if time.monotonic() - self._listed > age:
            try:
                found = self._admin.list_topics(timeout=ANSWER_SECONDS)
            except KafkaException as error:
                raise self._away(error) from error
            self.cluster_id, self._brokers = str(found.cluster_id), sorted(found.brokers)
            self._replicas = {
                name: min((len(part.replicas) for part in topic.partitions.values()), default=0)
                for name, topic in found.topics.items()
                if topic.error is None and not name.startswith("__")
            }
            self._listed = time.monotonic()
        return self._replicas

    def limits(self, wanted: Iterable[str] | None = None) -> dict[str, int]:
        """Topic -> most bytes of a record; of these topics, or of all. Those that do not exist are left out."""
        there = self.topics(FRESH_SECONDS if wanted is not None else 0)
        names = [name for name in (there if wanted is None else wanted) if name in there]
        return {name: facts.max_bytes for name, facts in self.facts(names).items()}

    def facts(self, names: Iterable[str]) -> dict[str, Facts]:
        """What the configuration of these topics says."""
        if time.monotonic() - self._described > LIMITS_SECONDS:
            self.forget()
        unknown = [name for name in names if name not in self._facts]
        if unknown:
            self._facts |= self._read(unknown)
        return {name: self._facts[name] for name in names}

    def forget(self) -> None:
        """Read everything again when it is next asked for."""
        self._facts, self._listed, self._described = {}, float("-inf"), time.monotonic()

    def must_have(self, sink: str, topic: str) -> None:
        """Refuse a topic that does not exist."""
        there = self.topics()
        if topic not in there and topic not in self.topics(0):
            near = did_you_mean(topic, self._replicas)
            raise SinkRefused(
                f"sink {sink}: there is no topic `{topic}` on {self.bootstrap}.{near if 'mean' in near else ''}",
                data="This sink wrote nothing. Topics are never created by penstock.",
                remedy=f"Create it:  kafka-topics --bootstrap-server {self.bootstrap} --create --topic {topic}",
            )

    def broker_settings(self) -> dict[str, str] | None:
        """The settings of a broker, or None where they may not be read."""
        from confluent_kafka.admin import ConfigResource, ResourceType

        self.topics()
        asked = ConfigResource(ResourceType.BROKER, str(self._brokers[0]))
        found = self._settings([asked])[asked]
        return None if found is None else found

    def create(self, topic: str) -> None:
        """Create a topic of one partition, with as many replicas as the brokers give by default."""
        from confluent_kafka.admin import NewTopic

        made = NewTopic(topic, num_partitions=1, replication_factor=-1)
        self._admin.create_topics([made], request_timeout=ANSWER_SECONDS)[topic].result(ANSWER_SECONDS)
        self._listed = float("-inf")

    def operations(self, topics: Iterable[str]) -> dict[str, set[str]]:
        """What we may do with these topics; those of which the brokers do not say it are left out."""
        from confluent_kafka import KafkaException, TopicCollection

        asked = TopicCollection(sorted(set(topics)))
        answers = self._admin.describe_topics(asked, include_authorized_operations=True, request_timeout=ANSWER_SECONDS)
        found = {}
        for topic, future in answers.items():
            try:
                allowed = future.result().authorized_operations
            except KafkaException as error:
                if "AUTHORIZATION" not in cause_of(error).name():
                    raise self._away(error) from error
                allowed = []
            if allowed is not None:
                found[topic] = {operation.name for operation in allowed}
        return found

    def _read(self, names: list[str]) -> dict[str, Facts]:
        from confluent_kafka.admin import ConfigResource, ResourceType

        asked = {name: ConfigResource(ResourceType.TOPIC, name) for name in names}
        answers = self._settings(list(asked.values()))
        return {name: _facts(answers[resource]) for name, resource in asked.items()}

    def _settings(self, asked: list[ConfigResource]) -> dict[Any, dict[str, str] | None]:
        """What the cluster answers; None where a permission is missing, or the topic is gone again."""
        from confluent_kafka import KafkaException

        answers: dict[Any, dict[str, str] | None] = {}
        for resource, future in self._admin.describe_configs(asked, request_timeout=ANSWER_SECONDS).items():
            try:
                answers[resource] = {name: entry.value for name, entry in future.result().items()}
            except KafkaException as error:
                name = cause_of(error).name()
                if "AUTHORIZATION" not in name and name != "UNKNOWN_TOPIC_OR_PART":
                    raise self._away(error) from error
                answers[resource] = None
        return answers

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable(
            f"topics on {self.bootstrap}: no broker answers ({cause_of(error).str()}).",
            data="Nothing was written; the pipeline goes on when they are back.",
            remedy="Check the addresses of the sink and the network.",
        )


def _facts(settings: dict[str, str] | None) -> Facts:
    if settings is None:
        return Facts(CAUTIOUS_BYTES, None)
    return Facts(int(settings["max.message.bytes"]), int(settings["min.insync.replicas"]))
