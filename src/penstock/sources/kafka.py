"""source kafka, at work: the streaming rows for Spark, and the cluster as its own client sees it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING, Any

from penstock.brokers import quiet_log
from penstock.errors import PenstockError, Refused, Unavailable
from penstock.origin import Origin
from penstock.ranges import Positions, positions_to_spark
from penstock.sources.fetching import fetch_options
from penstock.sources.options import Kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL_SECONDS = 30
"""How long one fetch may take before its task fails and is tried again; Spark's own default is two minutes."""


def kafka_options(source: Kafka, bootstrap: str, group: str) -> dict[str, str]:
    """The settings of Spark's Kafka source that say what to read, for a stream or a bounded read alike."""
    subscription = {
        "subscribe": ",".join(source.topics) if source.topics else None,
        "subscribePattern": f"^(?:{source.pattern})$" if source.pattern else None,  # Spark alone would take a part
        "assign": json.dumps({t: list(p) for t, p in source.partitions.items()}) if source.partitions else None,
    }
    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.isolation.level": f"read_{source.isolation}",
        "kafka.default.api.timeout.ms": str(POLL_SECONDS * 1000),
        "kafkaConsumer.pollTimeoutMs": str(POLL_SECONDS * 1000),
        "includeHeaders": "true",
        "groupIdPrefix": group,
        **{key: value for key, value in subscription.items() if value is not None},
    }


def start_options(source: Kafka) -> dict[str, str]:
    """Where the first run begins. Afterwards Spark looks at the checkpoint alone."""
    if isinstance(source.start, datetime):
        return {
            "startingTimestamp": str(int(source.start.timestamp() * 1000)),
            "startingOffsetsByTimestampStrategy": "latest",  # nothing after the time: start at the end
        }
    if isinstance(source.start, dict):
        positions = {(t, p): offset for t, parts in source.start.items() for p, offset in parts.items()}
        return {"startingOffsets": positions_to_spark(positions)}
    return {"startingOffsets": source.start}


def stream(
    spark: SparkSession,
    source: Kafka,
    bootstrap: str,
    *,
    pipeline: str,
    partitions: int,
    max_rows: int,
    skip_losses: bool,
    start: Positions | None = None,
    apart: bool = False,
) -> DataFrame:
    """The streaming rows in Spark's Kafka columns (see `as_source_rows`). `start` rules over the source's own.

    `partitions`: how many there are in all.
    `apart`: a source for each topic, in the order of their names, so that each has a limit of its own.
    """
    topics = topics_apart(source) if apart else []
    if len(topics) > 1:
        every = [
            stream(
                spark,
                only(source, topic),
                bootstrap,
                pipeline=pipeline,
                partitions=partitions,
                max_rows=max(1, max_rows // len(topics)),
                skip_losses=skip_losses,
                start=None if start is None else {part: at for part, at in start.items() if part[0] == topic},
            )
            for topic in topics
        ]
        return reduce(lambda one, other: one.union(other), every)
    options = {
        **kafka_options(source, bootstrap, f"penstock-{pipeline}"),
        **fetch_options(partitions),
        **({"startingOffsets": positions_to_spark(start)} if start is not None else start_options(source)),
        "maxOffsetsPerTrigger": str(max_rows),
        "failOnDataLoss": str(not skip_losses).lower(),
        **({"maxRecordsPerPartition": str(source.task_rows)} if source.task_rows is not None else {}),
    }
    return spark.readStream.format("kafka").options(**options).load()


def topics_apart(source: Kafka) -> list[str]:
    """The topics that this source names, in order; none for a pattern."""
    return sorted([*(source.topics or ()), *(source.partitions or ())])


def only(source: Kafka, topic: str) -> Kafka:
    """The same source, of one of its topics."""
    topics = (topic,) if source.topics is not None else None
    partitions = {topic: source.partitions[topic]} if source.partitions is not None else None
    start = {topic: source.start[topic]} if isinstance(source.start, dict) else source.start
    return source.model_copy(update={"topics": topics, "partitions": partitions, "start": start})


def as_source_rows(records: DataFrame) -> DataFrame:
    """Spark's Kafka columns in the order and types of `rows.SOURCE`.

    Headers go as JSON text (binary values in base64) and null where a record has none: an array on its way into
    Arrow costs CPU for every record, and only dead letters need it back. To be applied behind the count at the source:
    a projection in front of it would copy every value once more.
    """
    return records.selectExpr(
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType AS timestamp_type",
        "CASE WHEN size(headers) > 0 THEN to_json(headers) END AS headers",
    )


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

    def _asked(self, wanted: dict[Any, Any], level: Any, tries: int = 3) -> Positions:
        """What the brokers answer. One that was started again may find our picture of its leaders old: asked anew."""
        from confluent_kafka import KafkaError, KafkaException

        answers = self._admin.list_offsets(wanted, isolation_level=level, request_timeout=10)
        try:
            return {(tp.topic, tp.partition): future.result().offset for tp, future in answers.items()}
        except KafkaException as error:
            if tries < 2 or error.args[0].code() != KafkaError.FENCED_LEADER_EPOCH:
                raise
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
