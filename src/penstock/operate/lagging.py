"""The lag of a reader, measured from outside: of a pipeline of ours that runs or is dead, or of any Spark job.

The position is what is committed: from the ledger, or from a checkpoint. The broker is asked now. What only somebody
can know who watched (rates, trend, since when a record waits) is taken from the process that runs, if it is there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import files
from penstock.engine.meter import Meter
from penstock.errors import Refused
from penstock.files import Place
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.lease import holder
from penstock.ledger.ledger import Ledger
from penstock.observe import now as present
from penstock.observe.lag import Lag, PartitionLag, catch_up, together
from penstock.operate.foreign import Foreign, look
from penstock.ranges import Positions, positions_from_spark
from penstock.sources.cluster import Cluster
from penstock.sources.groups import publish
from penstock.sources.position import first_positions

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline


@dataclass(frozen=True)
class Reading:
    """A measured lag, and where its position is from."""

    name: str
    lag: Lag
    batch_id: int | None
    """The newest batch that is committed."""
    running: bool | None
    """Whether a process runs the pipeline; None: nobody can tell."""
    group: str | None
    checkpoint: Foreign | None = None
    published: str = ""
    """The group that was told, if any."""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "running": self.running,
            "batch_id": self.batch_id,
            "group": self.group,
            "lag_rows": self.lag.rows,
            "lag_seconds": self.lag.seconds,
            **self.lag.to_json(),
            **({"checkpoint": self.checkpoint.to_json()} if self.checkpoint else {}),
            **({"published": self.published} if self.published else {}),
        }


@dataclass
class OfPipeline:
    """Measures a pipeline of ours, from any process."""

    pipeline: Pipeline
    state: Place
    bootstrap: str
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        cluster = Cluster(self.bootstrap, self.pipeline.source.isolation)
        group = self.pipeline.observe.group_of(self.pipeline.name)
        self.meter = Meter(cluster, group, bounds_seconds=0.0)

    def measure(self) -> Reading:
        """The lag at this moment. Raises Unavailable where no broker answers."""
        cluster, source = self.meter.cluster, self.pipeline.source
        parts = cluster.read_by(source)
        ledger = Ledger.find(self.state, self.pipeline.name)
        last = ledger.last_outcome() if ledger else None
        if last is not None:
            positions = last.end
            self.meter.tracker.learn(last.ranges, last.tally)
        else:
            positions = self._start(ledger) or first_positions(source, cluster, parts)
        lag = self.meter.measure(parts, positions, planned=self._planned())
        running = holder(self.state / "lease") is not None
        then = present.read(self.pipeline.workplace)
        fresh = then is not None and running and then.lag is not None and then.age() < 3 * then.poll_seconds + 5
        if fresh and then is not None and then.lag is not None:
            lag = with_past(lag, then.lag)
        batch = last.batch_id if last else None
        return Reading(self.pipeline.name, lag, batch, running, self.meter.group)

    def close(self) -> None:
        self.meter.close()

    def _start(self, ledger: Ledger | None) -> Positions:
        """Where the first batch began, if Spark or the generation says so."""
        checkpoint = Checkpoint(self.state / "spark")
        if checkpoint.planned is not None and (began := checkpoint.start_of(0)):
            return began
        told = (files.read_json(ledger.folder / "generation.json") or {}).get("start") if ledger else None
        return positions_from_spark(told) if told else {}

    def _planned(self) -> Positions:
        """Where the newest batch ends that Spark has planned; nothing, where the checkpoint is damaged."""
        checkpoint = Checkpoint(self.state / "spark")
        try:
            return {} if checkpoint.planned is None else checkpoint.end_of(checkpoint.planned)
        except Refused:
            return {}  # the position is the ledger's: the lag is known all the same


@dataclass
class OfCheckpoint:
    """Measures any Structured Streaming job that reads Kafka, from its checkpoint. Nothing of it is changed."""

    folder: Path
    bootstrap: str
    committed: bool = False
    """Whether the job reads committed records only; Spark's default is to read all."""
    group: str | None = None
    publish: str | None = None
    """The group to tell how far the job is."""
    meter: Meter = field(init=False)

    def __post_init__(self) -> None:
        cluster = Cluster(self.bootstrap, "committed" if self.committed else "uncommitted")
        self.meter = Meter(cluster, self.publish or self.group, bounds_seconds=0.0)

    def measure(self) -> Reading:
        """The lag at this moment. Raises Unavailable where no broker answers."""
        found = look(self.folder)
        told = ""
        if self.publish and found.positions:
            publish(self.meter.cluster, self.publish, found.positions)
            told = self.publish
        there = self.meter.cluster.partitions()
        topics = sorted({topic for topic, _ in found.positions})
        parts = [(topic, part) for topic in topics for part in there.get(topic, [])]
        gone = [topic for topic in topics if topic not in there]
        planned = found.planned.positions if found.planned else None
        lag = self.meter.measure(parts, found.positions, planned=planned)
        if gone:
            lag = replace(lag, unknown=(*lag.unknown, f"topics that the cluster does not have: {', '.join(gone)}"))
        return Reading(str(self.folder), lag, found.committed, None, self.meter.group, found, told)

    def close(self) -> None:
        self.meter.close()


def with_past(lag: Lag, then: Lag) -> Lag:
    """This lag, with what only somebody could know who watched: rates, the trend, since when a record waits."""
    past = {(part.topic, part.partition): part for part in then.partitions}
    trends = {topic.topic: topic.trend for topic in then.topics}
    parts = tuple(_with_past(part, past.get((part.topic, part.partition)), lag.at - then.at) for part in lag.partitions)
    topics = tuple(
        together(
            topic.topic, [part for part in parts if part.topic == topic.topic], trends.get(topic.topic, topic.trend)
        )
        for topic in lag.topics
    )
    total = together("", parts, then.total.trend if then.total else "steady")
    return replace(lag, partitions=parts, topics=topics, total=total)


def _with_past(part: PartitionLag, then: PartitionLag | None, later: float) -> PartitionLag:
    if then is None:
        return part
    waiting = part.waiting_seconds
    if waiting is None and then.position == part.position and then.waiting_seconds:
        waiting = round(then.waiting_seconds + later, 3)
    arrival = part.arrival_per_second if part.arrival_per_second is not None else then.arrival_per_second
    read = part.read_per_second if part.read_per_second is not None else then.read_per_second
    return replace(
        part,
        waiting_seconds=waiting,
        arrival_per_second=arrival,
        read_per_second=read,
        catch_up_seconds=catch_up(part.rows, part.offsets, arrival, read),
        runway=then.runway if part.runway and _tells_of_the_same(part, then) else part.runway,
    )


def _tells_of_the_same(part: PartitionLag, then: PartitionLag) -> bool:
    """Was the runway of the past that of the record which is the next unread one now?"""
    way = then.runway
    return way is not None and way.slack_seconds is not None and then.position == part.position
