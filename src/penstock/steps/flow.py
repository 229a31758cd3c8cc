"""The stages of a pipeline between source and sinks, and how they are put together for Spark.

    decode  checks  steps ...  routes  write

A stage is Arrow (it runs in the Python worker: decode, Python steps over Arrow batches, SQL that could be compiled,
write) or Spark (all other SQL).
Adjacent Arrow stages make one `mapInArrow`; adjacent Spark stages make one projection after another. A pipeline
without a Spark stage is a single segment. In front of a Python step over DataFrames the batch is staged: a leg ends
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from penstock.rows import RECORD
from penstock.steps.compiled.settle import Settled
from penstock.steps.frame import Frame
from penstock.worker.crossing import with_form
from penstock.worker.intake import FromSpark, Intake
from penstock.worker.task import REPORT, ArrowStage, Exit, ToSpark, Work

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from penstock.formats.contract import FormatOptions
    from penstock.steps.staged import StagedStep


@dataclass(frozen=True)
class Stage:
    """One stage, learned: what it does and what it gives."""

    name: str
    """`checks`, a step's name, or `routes`."""
    runs_in: Literal["arrow", "spark", "staged"]
    columns: pa.Schema
    """The data columns behind it."""
    arrow: ArrowStage | None = None
    spark: Callable[[Frame], Frame] | None = None
    staged: StagedStep | None = None
    multiplies: bool = False
    """May it make several rows of one record?"""
    tasks: int | None = None
    """Over how many tasks the rows are spread in front of it; None: they stay as they are."""
    compiled: bool = False
    """Is it SQL that runs as Arrow compute, in the worker?"""
    why: str = ""
    """What keeps SQL in Spark: the first expression that cannot be compiled, or that the rows are there."""


@dataclass(frozen=True)
class Flow:
    """Everything between source and sinks."""

    decode: FormatOptions
    stages: tuple[Stage, ...] = ()
    routed: tuple[str, ...] = ()
    """Sinks whose own expressions are worked out in front of the write."""

    @property
    def columns(self) -> pa.Schema:
        """What the sinks see."""
        return self.stages[-1].columns if self.stages else self.decode.columns()


class Builder:
    """Puts stages together: Arrow stages are gathered until a Spark stage comes, or the end."""

    def __init__(self, rows: DataFrame, intake: Intake | None, columns: pa.Schema, batch_id: int) -> None:
        self.rows, self.columns, self.batch_id = rows, columns, batch_id
        self.intake = intake
        """What the next Arrow segment begins with; None while rows are in Spark."""
        self.gathered: list[Stage] = []
        self.multiplied = False

    def add_all(self, stages: Iterable[Stage]) -> None:
        for stage in stages:
            self.add(stage)

    def add(self, stage: Stage) -> None:
        if stage.tasks is not None:
            self._spread(stage.tasks)
        if stage.arrow is not None:
            self._into_arrow()
            self.gathered.append(stage)
        elif stage.spark is not None:
            self._into_spark()
            self.rows = stage.spark(Frame(self.rows, tuple(self.columns.names))).rows
        self.columns = stage.columns
        self.multiplied |= stage.multiplies

    def finish(self, end: Exit, routed: tuple[str, ...] = ()) -> DataFrame:
        self._into_arrow(routed)
        return self._segment(end, spark_schema(REPORT))

    def _spread(self, tasks: int) -> None:
        """Spread the rows over so many tasks. The rows of one record stay together, side by side."""
        self._into_spark()
        self.rows = self.rows.repartition(tasks, *RECORD).sortWithinPartitions(*RECORD)

    def _into_arrow(self, routed: tuple[str, ...] = ()) -> None:
        if self.intake is None:
            self.intake = FromSpark(self.columns, self.multiplied, routed)

    def _into_spark(self) -> None:
        if self.intake is not None:
            self.rows = self._segment(ToSpark(), spark_schema(with_form(self.columns)))

    def _segment(self, end: Exit, schema: StructType) -> DataFrame:
        assert self.intake is not None, "an Arrow segment begins with an intake"
        work = Work(self.batch_id, self.intake, in_worker(self.gathered, settled=not isinstance(end, ToSpark)), end)
        self.intake, self.gathered = None, []
        return self.rows.mapInArrow(work, schema)


def in_worker(stages: Sequence[Stage], *, settled: bool = True) -> tuple[ArrowStage, ...]:
    """What runs in the worker, fused. Behind each run of compiled SQL the fate of whole records is settled.

    `settled`: behind the last one too. Rows that go on into Spark are settled when they leave it.
    """
    made: list[ArrowStage] = []
    for stage, after in pairwise([*stages, None]):
        assert stage is not None, "only the end is none"
        assert stage.arrow is not None, "a stage of the worker"
        made.append(stage.arrow)
        if stage.compiled and (settled if after is None else not after.compiled):
            made.append(Settled())
    return tuple(made)


def collected(reports: DataFrame) -> list[str]:
    return [row[0] for row in reports.collect()]


def spark_schema(columns: pa.Schema) -> StructType:
    """The same columns in Spark's types."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(columns)
