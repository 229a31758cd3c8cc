"""Lag, as values: how far a reader is behind its topics, in rows and in seconds, per partition, topic and in all.

Every figure is of one moment, `at` (seconds since 1970). Rates are per second. None means: not known (yet). These are
the values of `<state>/progress/now.json`, of `penstock lag --json`, and what metrics, alerts and the dashboard read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.ranges import Positions

Trend = Literal["steady", "growing", "spike", "falling"]
"""`growing`: more comes than is read, batch after batch. `spike`: much came at once, and is being worked off."""


@dataclass(frozen=True)
class Runway:
    """How long until the broker deletes records that have not been read."""

    retention_seconds: float | None = None
    """How long the topic keeps records; None: for ever, or as far as its size allows."""
    retention_bytes: int | None = None
    """How many bytes a partition keeps; None: any number."""
    slack_seconds: float | None = None
    """Until the next unread record may be deleted, if nothing were read from now on. None: never, or not known."""
    seconds: float | None = None
    """The same at the present pace. None: at this pace the reader stays ahead."""
    by: Literal["time", "size"] | None = None
    """Which limit of the topic comes first."""


@dataclass(frozen=True)
class PartitionLag:
    """How far the reader is behind in one partition."""

    topic: str
    partition: int
    position: int
    """The next offset to be read, as far as batches are committed."""
    end: int
    """One past the last offset that may be read. Records of open transactions are beyond it."""
    start: int | None = None
    """The first offset that the broker still holds."""
    offsets: int = 0
    """`end` less `position`: what Kafka's own tools call lag. Counts markers of transactions and compacted records."""
    rows: int = 0
    """Records that can still be read: without markers, aborted and compacted ones."""
    estimated: bool = False
    """Whether `rows` was worked out from a share of the offsets; else it was counted, or each offset holds a record."""
    lost: int = 0
    """Offsets from `position` on that the broker has deleted already: they were never read."""
    held: int = 0
    """Offsets beyond `end` that an open transaction holds back."""
    age_seconds: float | None = None
    """Age of the next unread record by its own timestamp; 0 if there is none."""
    waiting_seconds: float | None = None
    """How long the next unread record has been there, worked out from when the end passed it; 0 if there is none."""
    arrival_per_second: float | None = None
    """Offsets that come."""
    read_per_second: float | None = None
    """Offsets that are read and committed."""
    catch_up_seconds: float | None = None
    """Until nothing is unread, at the present rates; 0 if nothing is. None: never at these rates, or not known."""
    hot: bool = False
    """Whether it carries far more than the others of its topic."""
    spark_offsets: int | None = None
    """Lag as Spark reports it: as of the planning of its newest batch."""
    group_position: int | None = None
    """What the pipeline's Kafka group says is the next offset."""
    runway: Runway | None = None

    @property
    def seconds(self) -> float | None:
        """How long the next unread record has waited; by its timestamp, where nobody watched when it came."""
        return self.age_seconds if self.waiting_seconds is None else self.waiting_seconds

    @property
    def group_offsets(self) -> int | None:
        """Lag as Kafka's tools show it for the group."""
        return None if self.group_position is None else max(0, self.end - self.group_position)

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    def to_json(self) -> dict[str, Any]:
        runway = dict(self.runway.__dict__) if self.runway else None
        return {**self.__dict__, "runway": runway, "seconds": self.seconds, "group_offsets": self.group_offsets}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> PartitionLag:
        own = {key: value for key, value in body.items() if key in cls.__dataclass_fields__}
        return cls(**{**own, "runway": Runway(**body["runway"]) if body.get("runway") else None})


@dataclass(frozen=True)
class TopicLag:
    """The partitions of one topic, or of all (`topic` is empty)."""

    topic: str
    partitions: int
    behind: int
    """Partitions with unread records."""
    rows: int
    offsets: int
    seconds: float | None
    """Of the partition that waits longest."""
    lost: int
    held: int
    arrival_per_second: float | None
    read_per_second: float | None
    catch_up_seconds: float | None
    trend: Trend
    hot: tuple[str, ...]
    """Names of partitions that carry far more than the others: `orders-3`."""
    runway_seconds: float | None
    """Until the first unread record of any partition is deleted, at the present pace; None: not at this pace."""
    spark_offsets: int | None
    group_offsets: int | None
    estimated: bool

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "hot": list(self.hot)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> TopicLag:
        return cls(**{**body, "hot": tuple(body["hot"])})


@dataclass(frozen=True)
class Lag:
    """Everything that is known of the lag at one moment."""

    at: float
    partitions: tuple[PartitionLag, ...] = ()
    topics: tuple[TopicLag, ...] = ()
    total: TopicLag | None = None
    unknown: tuple[str, ...] = field(default=())
    """What could not be learned this time, in words: a permission that is missing, a broker that was away."""

    @property
    def rows(self) -> int:
        return self.total.rows if self.total else 0

    @property
    def seconds(self) -> float | None:
        return self.total.seconds if self.total else None

    @property
    def positions(self) -> Positions:
        return {(part.topic, part.partition): part.position for part in self.partitions}

    def to_json(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "partitions": [part.to_json() for part in self.partitions],
            "topics": [topic.to_json() for topic in self.topics],
            "total": self.total.to_json() if self.total else None,
            "unknown": list(self.unknown),
        }

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> Lag:
        return cls(
            at=body["at"],
            partitions=tuple(map(PartitionLag.from_json, body["partitions"])),
            topics=tuple(map(TopicLag.from_json, body["topics"])),
            total=TopicLag.from_json(body["total"]) if body.get("total") else None,
            unknown=tuple(body.get("unknown", ())),
        )


def together(topic: str, parts: Iterable[PartitionLag], trend: Trend = "steady") -> TopicLag:
    """These partitions as one. Its seconds are those of the one that waits longest; so is its runway."""
    of = list(parts)
    rows = sum(part.rows for part in of)
    arrival, read = _sum(part.arrival_per_second for part in of), _sum(part.read_per_second for part in of)
    runways = [part.runway.seconds for part in of if part.runway and part.runway.seconds is not None]
    return TopicLag(
        topic=topic,
        partitions=len(of),
        behind=sum(part.rows > 0 for part in of),
        rows=rows,
        offsets=sum(part.offsets for part in of),
        seconds=max((part.seconds for part in of if part.seconds is not None), default=None),
        lost=sum(part.lost for part in of),
        held=sum(part.held for part in of),
        arrival_per_second=arrival,
        read_per_second=read,
        catch_up_seconds=catch_up(rows, sum(part.offsets for part in of), arrival, read),
        trend=trend,
        hot=tuple(part.name for part in of if part.hot),
        runway_seconds=min(runways, default=None),
        spark_offsets=_whole(part.spark_offsets for part in of),
        group_offsets=_whole(part.group_offsets for part in of),
        estimated=any(part.estimated for part in of),
    )


def catch_up(rows: int, offsets: int, arrival: float | None, read: float | None) -> float | None:
    """Seconds until nothing is unread, at these rates of offsets; None: never, or nobody knows."""
    if rows == 0:
        return 0.0
    if arrival is None or read is None or read <= arrival:
        return None
    return round(offsets / (read - arrival), 3)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known), 3) if known else None


def _whole(values: Iterable[int | None]) -> int | None:
    """The sum, or None where some are not known: half of a figure would look like progress."""
    known = list(values)
    return None if not known or any(value is None for value in known) else sum(value or 0 for value in known)
