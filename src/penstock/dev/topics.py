"""Topics of a broker, for `brokers: dev` and for tests."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec, PartitionMetadata
from confluent_kafka.cimpl import NewTopic

from penstock.errors import PenstockError, Unavailable


def admin(bootstrap: str) -> AdminClient:
    """A client that keeps librdkafka's own log off the terminal: what went wrong comes as an error."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def partitions_of(client: AdminClient, topic: str) -> int:
    """How many partitions a topic has, counting those with a leader; 0 when there is no such topic."""
    return sum(1 for part in _described(client, topic).values() if part.leader >= 0)


def ensure_topic(bootstrap: str, topic: str, partitions: int = 4, config: Mapping[str, str] | None = None) -> bool:
    """Create a topic unless it is there, and wait until all of it can be used. True when it was created."""
    client = admin(bootstrap)
    if partitions_of(client, topic):
        return False
    try:
        client.create_topics([NewTopic(topic, partitions, 1, config=dict(config or {}))])[topic].result(30)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise PenstockError(f"topic {topic} cannot be created at {bootstrap}: {error.args[0].str()}") from error
    deadline = time.monotonic() + 30
    while not _usable(client, topic):
        if time.monotonic() > deadline:
            raise Unavailable(f"topic {topic} was created at {bootstrap}, but has no leader after 30 seconds.")
        time.sleep(0.02)
    return True


def _usable(client: AdminClient, topic: str) -> bool:
    """Does every partition answer? A leader is named some milliseconds before it knows that it is one."""
    found = _described(client, topic)
    if not found or any(part.leader < 0 for part in found.values()):
        return False
    asked = client.list_offsets({TopicPartition(topic, number): OffsetSpec.latest() for number in found})
    return all(answer.exception(10) is None for answer in asked.values())


def _described(client: AdminClient, topic: str) -> dict[int, PartitionMetadata]:
    try:
        found = client.list_topics(timeout=10).topics.get(topic)
    except KafkaException as error:
        raise Unavailable(f"the broker does not say which topics it has: {error.args[0].str()}") from error
    return {} if found is None or found.error else found.partitions
