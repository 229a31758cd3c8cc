"""Plan: what stays the same from batch to batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from penstock.formats.contract import FormatOptions
from penstock.ledger.ledger import Ledger
from penstock.observe.events import Emit
from penstock.origin import Origin
from penstock.pipeline import Pipeline
from penstock.ranges import Positions, Range
from penstock.sinks.contract import Committer, TopicsCommitter, Watermarked
from penstock.sources.losses import Losses
from penstock.steps.flow import Flow
from penstock.steps.gathering import tasks_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Schemas(Protocol):
    """What a pipeline knows of its producers' schemas, where its format has a registry."""

    def meet(self, strange: Mapping[tuple[str, int], int], batch_id: int) -> bool:
        """Look up these topics and schema ids; True if some are new, so that the pass that met them is void.

        Raises Unavailable where the registry does not answer, SchemaStopped where the policy says to stop.
        """
        ...

    def format(self, *, closed: bool = False) -> FormatOptions:
        """The format with all that is known now. `closed`: an id that is not known is not asked for any more."""
        ...


class Outlets(Protocol):
    """All that publishing a frozen batch needs."""

    tables: dict[str, Committer]
    topics: list[TopicsCommitter]


@dataclass
class Plan:
    """A pipeline made ready to run: its ledger, its tables, its policy for losses, and who listens."""

    pipeline: Pipeline
    ledger: Ledger
    losses: Losses
    tables: dict[str, Committer]
    """Every table in the order of the commits: dead letters first."""
    fingerprint: str
    flow: Flow
    """Everything between source and sinks."""
    emit: Emit
    topics: list[TopicsCommitter] = field(default_factory=list)
    """The Kafka clusters that the pipeline writes to: one transaction each."""
    start: Positions | None = None
    """Where the first batch starts, if not where the pipeline file says."""
    origin: Callable[[Iterable[str]], Origin] = lambda _topics: Origin()
    """Asks the source which topics these names are now."""
    as_source: Callable[[DataFrame], DataFrame] = lambda rows: rows
    """A batch as Spark hands it over, in the columns of `rows.SOURCE`."""
    schemas: Schemas | None = None
    learn: Callable[[FormatOptions], Flow] | None = None
    """Learns the stages anew for other columns."""
    weighed: bool = False
    """Whether the records of a batch are weighed on their way into the worker: see steps/weighing.py."""
    known_unknown: set[str] = field(default_factory=set)
    """Unknown fields that were reported already."""

    def met(self, strange: Mapping[tuple[str, int], int], batch_id: int) -> Flow | None:
        """The flow for another pass over the batch, if the first met schemas that were not known; else None.

        From the next batch on the plan's own flow knows them too, in new columns maybe.
        """
        if not strange or self.schemas is None or not self.schemas.meet(strange, batch_id):
            return None
        assert self.learn is not None, "who gives schemas says how to learn"
        decode = self.schemas.format()
        same = decode.columns().equals(self.flow.decode.columns())
        self.flow = replace(self.flow, decode=decode) if same else self.learn(decode)
        return replace(self.flow, decode=self.schemas.format(closed=True))

    def gathered(self, rows: DataFrame, ranges: Sequence[Range]) -> DataFrame:
        """The batch in no more tasks than it needs; where the file says how large a task is, as Spark made them.

        Nothing stands between this and the count of what is read: Spark copies every row where either begins.
        """
        if self.pipeline.source.task_rows is not None:
            return rows
        tasks = tasks_for(ranges, rows.sparkSession.sparkContext.defaultParallelism)
        return rows if tasks is None else rows.coalesce(tasks)

    @property
    def sinks(self) -> list[str]:
        """The sinks of the pipeline, in the order of the file."""
        return list(self.pipeline.sinks)

    def committers(self) -> list[Watermarked]:
        """Everything that holds a watermark, in the order of a batch's commits."""
        return [*self.tables.values(), *self.topics]
