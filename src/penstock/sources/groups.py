"""A Kafka group as a place where progress is shown: read and written by a consumer that joins nothing.

Never by an admin client: in librdkafka the whole process dies of one that asks a group's coordinator while the broker
goes away, or while another broker takes the group over (its issues 5040 and 4605).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from penstock.brokers import quiet_log
from penstock.errors import Unavailable
from penstock.ranges import Positions

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition

    from penstock.sources.cluster import Cluster

ANSWER_SECONDS = 10.0


class Desk:
    """Reads and writes the offsets of one group."""

    def __init__(self, bootstrap: str, group: str) -> None:
        from confluent_kafka import Consumer

        settings = {"bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "log_level": 0}
        answers: list[tuple[Any, list[TopicPartition]]] = []
        told = {"on_commit": lambda error, places: answers.append((error, places))}
        self._answers, self._consumer = answers, Consumer({**settings, **told}, logger=quiet_log())

    def read(self, places: list[TopicPartition]) -> list[TopicPartition]:
        found: list[TopicPartition] = self._consumer.committed(places, timeout=ANSWER_SECONDS)
        return found

    def write(self, places: list[TopicPartition]) -> None:
        """Commit these offsets. Not by a call that waits: that would wait for ever while no broker answers."""
        from confluent_kafka import KafkaException

        self._answers.clear()
        self._consumer.commit(offsets=places, asynchronous=True)
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self._answers:
            if time.monotonic() > deadline:
                raise TimeoutError
            self._consumer.poll(0.05)
        error, done = self._answers[-1]
        wrong = [error] if error is not None else [each.error for each in done if each.error is not None]
        if wrong:
            raise KafkaException(wrong[0])


_desks: WeakKeyDictionary[Cluster, dict[str, Desk]] = WeakKeyDictionary()


def committed(cluster: Cluster, group: str, partitions: Iterable[tuple[str, int]]) -> Positions:
    """What the group says is the next offset of these partitions; those that it does not know are left out."""
    from confluent_kafka import KafkaException, TopicPartition

    wanted = [TopicPartition(*part) for part in partitions]
    if not wanted:
        return {}
    try:
        found = _desk(cluster, group).read(wanted)
    except (KafkaException, TimeoutError) as error:
        raise _refused(cluster, group, "read", error) from error
    return {(str(each.topic), int(each.partition)): int(each.offset) for each in found if each.offset >= 0}


def publish(cluster: Cluster, group: str, positions: Positions) -> None:
    """Show these positions as the group's. Raises Unavailable, with words, where the broker does not take them."""
    from confluent_kafka import KafkaException, TopicPartition

    if not positions:
        return
    places = [TopicPartition(topic, number, at) for (topic, number), at in sorted(positions.items())]
    try:
        _desk(cluster, group).write(places)
    except (KafkaException, TimeoutError) as error:
        raise _refused(cluster, group, "written", error) from error


def _desk(cluster: Cluster, group: str) -> Desk:
    """The group's desk; kept, because a connection costs more than the question."""
    known = _desks.setdefault(cluster, {})
    if group not in known:
        known[group] = Desk(cluster.bootstrap, group)
    return known[group]


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
