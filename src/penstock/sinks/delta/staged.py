"""Rows for Spark's writer: plain Parquet under the batch's stage, already fit for the table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.files import sync
from penstock.sinks.contract import FrozenFile, Misfit, RecordNumbers
from penstock.sinks.delta.conditions import Condition
from penstock.sinks.delta.fit import Fit
from penstock.sinks.delta.part import Layout, Part
from penstock.sinks.delta.partition import Partitioner
from penstock.sinks.delta.target import Lineage, packed
from penstock.sinks.delta.types import delta_field
from penstock.sinks.fitting import fitting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.sinks.contract import Writer

SPARK = "spark"
"""What stands in a manifest under `by` where Spark is to commit."""


@dataclass(frozen=True)
class SparkTarget:
    """The table as a batch sees it. Small and picklable: goes to the tasks, and as JSON into the manifest."""

    table: str
    folder: str
    """Where the frozen rows are: the batch's own stage."""
    table_id: str
    columns: pa.Schema
    """The columns of the files, typed as the table's."""
    partition_by: tuple[str, ...]
    lineage: Lineage | None
    add_columns: tuple[dict[str, Any], ...]
    conditions: tuple[Condition, ...]
    """What every row must fulfil."""
    demands: dict[str, str]
    """The same as the table stated it, to tell later whether anything was added."""

    @property
    def extras(self) -> tuple[str, ...]:
        return ()

    def writer(self, tag: str) -> Writer:
        return StagedWriter(self, tag)

    def to_json(self) -> dict[str, Any]:
        return {
            "by": SPARK,
            "table": self.table,
            "folder": self.folder,
            "table_id": self.table_id,
            "columns": [delta_field(field) for field in self.columns],
            "partition_by": list(self.partition_by),
            "add_columns": list(self.add_columns),
            "demands": self.demands,
        }


class StagedWriter:
    """One task's file. A failed task leaves an orphan in the stage, which goes with it."""

    def __init__(self, target: SparkTarget, tag: str) -> None:
        self.target, self.tag, self.folder = target, tag, Path(target.folder)
        self.fit = Fit(target.columns)
        self.partitioner = Partitioner(target.columns, target.partition_by)
        self.part: Part | None = None

    def write(self, rows: pa.RecordBatch, records: RecordNumbers = None) -> list[Misfit]:
        """Take these rows, but for records that the table's columns or conditions do not allow."""
        shaped = self.fit.shape(packed(rows, self.target.lineage))
        found: dict[int, Misfit] = {}
        for misfit in (*self.fit.misfits(shaped), *self.partitioner.misfits(shaped), *self._breaking(shaped)):
            found.setdefault(misfit.row, misfit)
        misfits = [found[row] for row in sorted(found)]
        if misfits:
            shaped = shaped.filter(pa.array(fitting(shaped.num_rows, misfits, records)))
        if shaped.num_rows:
            self._part().add(shaped)
        return misfits

    def close(self) -> list[FrozenFile]:
        """The file complete and on disk, its name too."""
        if self.part is None:
            return []
        file = self.part.close({})
        sync(self.folder / file.path)
        sync(self.folder)
        return [file]

    def _breaking(self, rows: pa.RecordBatch) -> Iterator[Misfit]:
        for condition in self.target.conditions:
            at = None if condition.field is None else f"/{condition.field}"
            for row in np.flatnonzero(condition.broken(rows).to_numpy(zero_copy_only=False)):
                yield Misfit(int(row), at, f"The table has {condition.what}, and the row does not fulfil it."[:300])

    def _part(self) -> Part:
        if self.part is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.part = Part(self.folder, self.tag, Layout(self.fit.shape_of, []))
        return self.part
