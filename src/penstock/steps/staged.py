"""A Python step over a Spark DataFrame. The function may do what it likes with its rows, so none but its own go in:
the batch is staged in front of it, and what it gives is joined with what it was given, by lineage.

So a record that is out never meets the function, one that it leaves out is dropped under the step's name, and one on
which it raises can be looked for in the staged rows, without another read of the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from penstock.errors import StepRefused
from penstock.rows import RECORD
from penstock.steps.flow import spark_schema
from penstock.steps.frame import OWN, Frame, column, out
from penstock.steps.functions import NOTHING, find
from penstock.steps.hunt import Record, is_one_of
from penstock.worker.crossing import with_form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RAISED = "The function of this step raised an error on this record."


@dataclass(frozen=True)
class StagedStep:
    """`module:function` over DataFrames."""

    name: str
    function: str
    folder: str
    given: pa.Schema
    """The data columns that it is given."""
    columns: pa.Schema
    """The data columns that it gives, learned from a call on zero rows."""

    def read(self, spark: SparkSession, files: Sequence[Path]) -> Frame:
        """The staged rows in front of this step."""
        form = spark_schema(with_form(self.given))
        rows = spark.read.schema(form).parquet(*map(str, files)) if files else spark.createDataFrame([], form)
        return Frame(rows, tuple(self.given.names))

    def made(self, staged: DataFrame) -> DataFrame:
        """What the function makes of these rows."""
        given = seen(Frame(staged, tuple(self.given.names)))
        return shaped(find(self.function, self.folder)(given), self.function, self.columns)

    def over(self, staged: Frame, failed: Sequence[Record]) -> Frame:
        """Every staged record with the rows that the function made of it. `failed`: those on which it raises."""
        from pyspark.sql import functions as F  # noqa: N812

        bad = is_one_of(failed)
        made = self.made(staged.rows.filter(~bad)).withColumnsRenamed({name: f"__new{name}" for name in RECORD})
        keys = [column(name) == column(f"__new{name}") for name in RECORD]
        carried = staged.rows.select(*map(column, staged.carried)).dropDuplicates(list(RECORD))  # one row a record
        joined = carried.join(made.withColumn("__made", F.lit(True)), keys, "full")
        mark = F.when(bad, out(f"step:{self.name}", "step_failed", RAISED)).when(
            column("__made").isNull(), out(f"step:{self.name}", self.name, None, "drop")
        )
        ordered = joined.sortWithinPartitions(*RECORD)
        kept = [mark.alias(name) if name == "__out" else column(name) for name in staged.carried]
        return Frame(ordered.select(*map(column, self.columns.names), *kept), tuple(self.columns.names))


def seen(frame: Frame) -> DataFrame:
    """What a function sees: the user's columns and penstock's own."""
    lineage = ("_topic", "_partition", "_offset", "_timestamp", "_key")
    return frame.scope().select(*map(column, (*frame.columns, *lineage, *OWN)))


def shaped(made: object, reference: str, columns: pa.Schema | None = None) -> DataFrame:
    """What a function gave: its data columns and the lineage that it must keep."""
    from pyspark.sql import DataFrame

    if not isinstance(made, DataFrame):
        raise _refused(reference, f"it gave a {type(made).__name__}, not a pyspark.sql.DataFrame")
    lost = [name for name in RECORD if name not in made.columns]
    if lost:
        raise _refused(reference, f"it gave rows without {', '.join(lost)}")
    data = [name for name in made.columns if not name.startswith("_")] if columns is None else columns.names
    return made.select(*map(column, data), *map(column, RECORD))


def _refused(reference: str, what: str) -> StepRefused:
    return StepRefused(f"python step {reference}: {what}.", data=NOTHING, remedy="Correct the function and run again.")
