"""The half of the sink that runs in a task: rows into the table's own Parquet files, which nobody can see yet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

from penstock.files import sync
from penstock.sinks.contract import FrozenFile, Misfit, RecordNumbers
from penstock.sinks.delta.fit import Fit
from penstock.sinks.delta.part import Layout, Part
from penstock.sinks.delta.partition import Key, Partitioner
from penstock.sinks.delta.spill import Spill
from penstock.sinks.delta.stats import indexed
from penstock.sinks.delta.target import DeltaTarget, packed
from penstock.sinks.fitting import fitting

OPEN_PARTS = 64
"""Most files that a task has open at once."""
HELD_BYTES = 128 * 2**20
"""Most bytes of rows that a task holds back for fuller row groups, over all of its files."""


class DeltaWriter:
    """One task's files: one for each partition value. A failed task leaves orphans, which `VACUUM` removes."""

    def __init__(self, target: DeltaTarget, tag: str) -> None:
        self.target, self.tag, self.folder = target, tag, Path(target.table)
        self.fit = Fit(target.columns)
        self.partitioner = Partitioner(target.columns, target.partition_by)
        # Partition columns stand in the log; they come last in the file too, without statistics. Delta's readers take
        # them from the log. Those that read files by themselves (Polars, DuckDB) would else see NULL: names are flat.
        data = pa.schema([field for field in self.fit.shape_of if field.name not in target.partition_by])
        self.schema = pa.schema([*data, *(self.fit.shape_of.field(name) for name in self.partitioner.fields)])
        self.layout = Layout(self.schema, indexed(data, target.configuration))
        self.parts: dict[Key, Part] = {}
        self.spill: Spill | None = None

    def write(self, rows: pa.RecordBatch, records: RecordNumbers = None) -> list[Misfit]:
        """Take these rows, but for records that the table's columns do not allow."""
        shaped = self.fit.shape(packed(rows, self.target.lineage))
        found: dict[int, Misfit] = {}
        for misfit in (*self.fit.misfits(shaped), *self.partitioner.misfits(shaped)):
            found.setdefault(misfit.row, misfit)
        misfits = [found[row] for row in sorted(found)]
        if misfits:
            shaped = shaped.filter(pa.array(fitting(shaped.num_rows, misfits, records)))
        if shaped.num_rows:
            self._take(shaped)
        return misfits

    def _take(self, rows: pa.RecordBatch) -> None:
        if not self.target.partition_by:
            self._part(()).add(rows)
            return
        rows = self.partitioner.without_empty(rows)
        body = rows.select(self.schema.names)
        late = []
        for key, numbers in self.partitioner.pieces(rows):
            if key in self.parts or len(self.parts) < OPEN_PARTS:
                # A copy, not a slice: a slice would keep the whole batch in memory for its few rows.
                self._part(key).add(body if numbers is None else body.take(pa.array(numbers)))
            else:
                late.append((key, numbers if numbers is not None else range(rows.num_rows)))
        if late:
            self.spill = self.spill or Spill(self.schema)
            every = pa.array([number for _, numbers in late for number in numbers], pa.int64())
            self.spill.add(body.take(every), [(key, len(numbers)) for key, numbers in late])
        self._hold_less()

    def _part(self, key: Key) -> Part:
        if key not in self.parts:
            self.parts[key] = Part(self.folder, self.tag, self.layout)
        return self.parts[key]

    def _hold_less(self) -> None:
        """Write out the largest row groups in the making until few enough bytes are held."""
        held = sum(part.held_bytes for part in self.parts.values())
        while held > HELD_BYTES:
            largest = max(self.parts.values(), key=lambda part: part.held_bytes)
            held -= largest.held_bytes
            largest.flush()

    def close(self) -> list[FrozenFile]:
        """Every file complete and on disk, its name too."""
        files = [part.close(self.partitioner.values(key)) for key, part in self.parts.items()]
        self.parts = {}
        if self.spill:
            files += self._close_spilled(self.spill)
        if files:
            with ThreadPoolExecutor(min(8, len(files))) as threads:  # a disk syncs many files in little more than one
                list(threads.map(sync, [self.folder / file.path for file in files]))
            sync(self.folder)
        return files

    def _close_spilled(self, spill: Spill) -> list[FrozenFile]:
        files = []
        for key, batches in spill.by_key():
            part = self._part(key)
            for rows in batches:
                part.add(rows)
            files.append(part.close(self.partitioner.values(key)))
            del self.parts[key]
        spill.close()
        return files
