"""A Kafka cluster as its own client sees it: topics, where they begin and end, and what may be read."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.brokers import quiet_log
from penstock.errors import PenstockError, Refused, Unavailable
from penstock.origin import Origin
from penstock.ranges import Positions
from penstock.sources.options import Kafka

STALE = (
    *("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_FOR_PARTITION", "LEADER_NOT_AVAILABLE"),
    "UNKNOWN_TOPIC_OR_PART",
)
"""What a broker answers that was started again, or has not heard yet of a topic, or that it leads a partition."""
TRIES, PAUSE_SECONDS = 5, 0.1


class Cluster:
    """A Kafka cluster as a client sees it: topics, partitions, the offsets they hold."""

    def __init__(self, bootstrap: str, isolation: str = "committed") -> None:
        from confluent_kafka.admin import AdminClient

        self.bootstrap, self.isolation = bootstrap, isolation
        self.id = ""
        self._admin = AdminClient(
            {"bootstrap.servers": bootstrap, "socket.timeout.ms": 10_000, "log_level": 0}, logger=quiet_log()
        )

    @property
    def admin(self) -> Any:
        """The admin client, for what else is asked of the cluster. It is kept as long as the cluster is."""
        return self._admin

    def partitions(self, timeout: float = 10) -> dict[str, list[int]]:
        """Every topic of the cluster with its partitions."""
        with self._reaching():
            found = self._admin.list_topics(timeout=timeout)
        self.id = str(found.cluster_id or "")
        return {name: sorted(topic.partitions) for name, topic in found.topics.items() if topic.error is None}

    def origin(self, topics: Iterable[str]) -> Origin:
        """The cluster's id, and the ids of those of these topics that are there."""
        if not self.id:
            self.partitions()
        return Origin(self.id, {name: _id(topic) for name, topic in self._described(topics).items()})

    def origin_of(self, source: Kafka) -> Origin:
        """The same of every topic that this source reads now. Refuses topics that it may not read."""
        there = self.partitions()
        if source.pattern is not None:
            names = [name for name in there if re.fullmatch(source.pattern, name)]
        else:
            names = [*(source.topics or ()), *(source.partitions or ())]
        described = self._described(names, with_permissions=True)
        forbidden = [name for name, topic in described.items() if not _readable(topic)]
        if forbidden:
            raise self._forbidden(forbidden)
        return Origin(self.id, {name: _id(topic) for name, topic in described.items()})

    def read_by(self, source: Kafka) -> list[tuple[str, int]]:
        """The partitions that this source reads now. Refuses topics and partitions that do not exist."""
        there = self.partitions()
        if source.pattern is not None:
            pattern = re.compile(source.pattern)
            return [(t, p) for t, parts in sorted(there.items()) if pattern.fullmatch(t) for p in parts]
        if source.partitions is not None:
            wanted = [(topic, part) for topic, parts in source.partitions.items() for part in parts]
            missing = [f"{topic}-{part}" for topic, part in wanted if part not in there.get(topic, [])]
        else:
            wanted = [(topic, part) for topic in source.topics or () for part in there.get(topic, [])]
            missing = [topic for topic in source.topics or () if topic not in there]
        if missing:
            raise self._no_such(missing, there)
        return wanted

    def earliest(self, partitions: Iterable[tuple[str, int]]) -> Positions:
        """The first offset that each partition still holds."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(partitions, OffsetSpec.earliest())

    def latest(self, partitions: Iterable[tuple[str, int]], isolation: str | None = None) -> Positions:
        """One past the last offset of each partition that a reader may see; one with this `isolation`, if given."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(partitions, OffsetSpec.latest(), isolation)

    def _described(self, topics: Iterable[str], *, with_permissions: bool = False) -> dict[str, Any]:
        """What the cluster says of these topics; those that are not there are left out."""
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        names = sorted(set(topics))
        if not names:
            return {}
        found = {}
        with self._reaching():
            answers = self._admin.describe_topics(
                TopicCollection(names), include_authorized_operations=with_permissions, request_timeout=10
            )
            for name, future in answers.items():
                try:
                    found[name] = future.result()
                except KafkaException as error:
                    if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                        raise
        return found

    def at_time(self, partitions: Iterable[tuple[str, int]], milliseconds: int) -> Positions:
        """The first offset of each partition at or after this time; -1 where there is none."""
        from confluent_kafka.admin import OffsetSpec

        return self._offsets(partitions, OffsetSpec.for_timestamp(milliseconds))

    def reachable(self, timeout: float = 2) -> bool:
        """Does a broker answer now?"""
        try:
            self.partitions(timeout)
        except Unavailable:
            return False
        return True

    def _offsets(self, partitions: Iterable[tuple[str, int]], spec: Any, isolation: str | None = None) -> Positions:
        from confluent_kafka import IsolationLevel, TopicPartition

        wanted = {TopicPartition(topic, partition): spec for topic, partition in partitions}
        if not wanted:
            return {}
        committed = (isolation or self.isolation) == "committed"
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        with self._reaching():
            return self._asked(wanted, level)

    def _asked(self, wanted: dict[Any, Any], level: Any, tries: int = TRIES) -> Positions:
        """What the brokers answer; asked anew where one and our picture of the leaders are not of the same age."""
        from confluent_kafka import KafkaException

        answers = self._admin.list_offsets(wanted, isolation_level=level, request_timeout=10)
        try:
            return {(tp.topic, tp.partition): future.result().offset for tp, future in answers.items()}
        except KafkaException as error:
            if tries < 2 or error.args[0].name() not in STALE:
                raise
        time.sleep(PAUSE_SECONDS)
        self._admin.list_topics(timeout=10)
        return self._asked(wanted, level, tries - 1)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        from confluent_kafka import KafkaError, KafkaException

        try:
            yield
        except KafkaException as error:
            cause = error.args[0]
            if cause.code() in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
                raise self._vanished(cause) from error
            if "AUTHORIZATION" in cause.name():
                raise self._forbidden([]) from error
            raise self._away(cause) from error

    def _away(self, cause: Any) -> Unavailable:
        return Unavailable(
            f"source kafka: no broker of {self.bootstrap} answers ({cause.str()}).",
            data="Nothing was lost; the pipeline goes on when they are back.",
            remedy="Check the addresses and the network, or start a broker:  penstock dev up",
        )

    def _forbidden(self, topics: list[str]) -> Refused:
        what = f"topic {', '.join(topics)}" if topics else "a topic that the pipeline reads"
        return Refused(
            f"source kafka: the permission to read {what} on {self.bootstrap} is missing.",
            data="Nothing was read or written.",
            remedy="Grant Read and Describe on the topics, and Read on the groups that begin with  penstock-",
        )

    def _vanished(self, cause: Any) -> PenstockError:
        return Refused(
            f"source kafka: a topic or partition that the pipeline reads is gone from {self.bootstrap} "
            f"({cause.str()}).",
            data="Nothing was written.",
            remedy="If it was recreated, its offsets mean something else now: start a new generation.",
        )

    def _no_such(self, missing: list[str], there: dict[str, list[int]]) -> Refused:
        import difflib

        close = [match for name in missing for match in difflib.get_close_matches(name, there, n=2)]
        known = ", ".join(sorted(name for name in there if not name.startswith("__"))[:10]) or "no topics"
        hint = f" Did you mean {', '.join(close)}?" if close else ""
        return Refused(
            f"source kafka: {self.bootstrap} has no {', '.join(missing)}.{hint}",
            data=f"It has: {known}. Nothing was written.",
            remedy="Correct source.kafka, or create the topic.",
        )


def _readable(topic: Any) -> bool:
    """May this topic be read, as far as the broker says?"""
    allowed = topic.authorized_operations
    return not allowed or any(operation.name in ("READ", "ALL") for operation in allowed)


def _id(topic: Any) -> str:
    """The topic's id; empty where the broker is too old to have any."""
    text = str(topic.topic_id)
    return "" if not text.strip("A=") else text
