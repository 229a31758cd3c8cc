"""A Kafka group as a place where progress is shown: read and written by an admin client, without joining it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from penstock.brokers import quiet_log
from penstock.errors import Unavailable
from penstock.ranges import Positions

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from penstock.sources.kafka import Cluster

ANSWER_SECONDS = 10.0
_readers: WeakKeyDictionary[Cluster, dict[str, Consumer]] = WeakKeyDictionary()


def committed(cluster: Cluster, group: str, partitions: Iterable[tuple[str, int]] | None = None) -> Positions:
    """What the group says is the next offset of these partitions, or of all that it knows."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

    wanted = None if partitions is None else [TopicPartition(*part) for part in partitions]
    if wanted is not None and not wanted:
        return {}
    try:
        if wanted is not None:
            found = _reader(cluster, group).committed(wanted, timeout=ANSWER_SECONDS)
        else:
            asked = cluster.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)])
            found = asked[group].result(ANSWER_SECONDS).topic_partitions
    except (KafkaException, TimeoutError) as error:
        raise _refused(cluster, group, "read", error) from error
    return {(str(each.topic), int(each.partition)): int(each.offset) for each in found if each.offset >= 0}


def _reader(cluster: Cluster, group: str) -> Consumer:
    """A consumer that joins nothing and only asks for offsets. An admin client must not be asked: the whole process
    dies of a broker that answers that it is not the group's coordinator (librdkafka issue 5040)."""
    from confluent_kafka import Consumer

    known = _readers.setdefault(cluster, {})
    if group not in known:
        settings = {"bootstrap.servers": cluster.bootstrap, "group.id": group, "enable.auto.commit": False}
        known[group] = Consumer({**settings, "log_level": 0}, logger=quiet_log())
    return known[group]


def publish(cluster: Cluster, group: str, positions: Positions) -> None:
    """Show these positions as the group's. Raises Unavailable, with words, where the broker does not take them."""
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition

    if not positions:
        return
    places = [TopicPartition(topic, number, at) for (topic, number), at in sorted(positions.items())]
    try:
        asked = cluster.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)])
        done = asked[group].result(ANSWER_SECONDS).topic_partitions
    except (KafkaException, TimeoutError) as error:
        raise _refused(cluster, group, "written", error) from error
    wrong = [each for each in done if each.error is not None]
    if wrong:
        raise _refused(cluster, group, "written", KafkaException(wrong[0].error))


def _refused(cluster: Cluster, group: str, what: str, error: Exception) -> Unavailable:
    from confluent_kafka import KafkaError

    cause = error.args[0] if error.args and isinstance(error.args[0], KafkaError) else None
    name = cause.name() if cause is not None else "no answer in time"
    why, remedy = (cause.str() if cause is not None else name), ""
    if "AUTHORIZATION" in name:
        remedy = f"Grant Read on the group {group}, and on the topics."
    elif name in ("UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"):
        why = "consumers have joined a group of this name; it is theirs"
        remedy = "Choose another name:  observe: {group: ...}"
    return Unavailable(
        f"progress: the offsets of group {group} on {cluster.bootstrap} cannot be {what}: {why}.",
        data="No batch is affected: the group only shows progress.",
        remedy=remedy,
    )
