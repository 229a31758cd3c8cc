"""A Python step over Arrow batches, in the worker. What it raises on one record harms that record alone."""

from __future__ import annotations

import faulthandler
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from penstock.errors import StepRefused
from penstock.rows import HEADERS, RECORD, Rows, headers_of, lineage_of
from penstock.steps.functions import find
from penstock.steps.joined import Joined, Place
from penstock.worker.stretches import changed

HANGS_SECONDS = 60.0
"""After so long in one call a function is taken to hang."""
TIMESTAMP_TYPES = pa.array(["CreateTime", "LogAppendTime"])
OWN = pa.schema(
    [
        pa.field("_timestamp_type", pa.string()),
        pa.field("_key", pa.binary()),
        pa.field("_headers", HEADERS),
        pa.field("_schema_id", pa.int32()),
    ]
)
"""penstock's columns beside the lineage, as a step sees them."""


@dataclass(frozen=True)
class PythonStep:
    """`module:function` as a stage. Travels to the executors by name; the function is found there."""

    name: str
    function: str
    folder: str
    columns: pa.Schema
    """The data columns that it gives, learned from a call on zero rows."""

    def over(self, rows: Rows) -> Rows:
        """The rows as the function gives them. Records it leaves out are dropped, under the step's name."""
        given = np.flatnonzero(rows.good)
        if not len(given):
            return _all_out(rows, self.columns)
        batch = visible(rows).take(pa.array(given))
        made, failed = self._in_parts(batch)
        return Joined(rows, given, self).of(made, failed)

    def _in_parts(self, batch: pa.RecordBatch) -> tuple[list[pa.RecordBatch], dict[Place, str]]:
        """What the function gave, and the records on which it raised: a batch is halved down to the record."""
        try:
            with _stack_if_it_hangs():
                made = find(self.function, self.folder)(batch)
            return [self.shaped(made)], {}
        except StepRefused:
            raise
        except (Exception, SystemExit) as error:
            cut = _middle(batch)
            if cut is None:
                topic, partition, offset = (batch[name][0].as_py() for name in RECORD)
                return [], {(topic, partition, offset): f"{type(error).__name__}: {error}"[:300]}
        left, failed_left = self._in_parts(batch.slice(0, cut))
        right, failed_right = self._in_parts(batch.slice(cut))
        return [*left, *right], {**failed_left, **failed_right}

    def shaped(self, made: object) -> pa.RecordBatch:
        """What the function gave, in the columns that were learned, with the lineage that it kept."""
        if not isinstance(made, pa.RecordBatch):
            raise self.broken(f"it gave a {type(made).__name__}, not a pyarrow.RecordBatch")
        lost = [name for name in (*RECORD, *self.columns.names) if name not in made.schema.names]
        if lost:
            raise self.broken(f"it gave rows without {', '.join(lost)}")
        more = [name for name in made.schema.names if name not in self.columns.names and not name.startswith("_")]
        if more:
            raise self.broken(f"it gave {', '.join(more)}, which it did not give when it was called on zero rows")
        arrays = [made[field.name].cast(field.type) for field in self.columns]
        schema = pa.schema([*self.columns, *(made.schema.field(name) for name in RECORD)])
        return pa.RecordBatch.from_arrays([*arrays, *(made[name] for name in RECORD)], schema=schema)

    def broken(self, what: str) -> StepRefused:
        return StepRefused(
            f"step {self.name} ({self.function}): {what}.",
            data="Nothing of this batch is visible.",
            remedy="Correct the function and run again: the batch is done anew.",
        )


@contextmanager
def _stack_if_it_hangs() -> Iterator[None]:
    """A call that takes too long leaves its stack in the worker's log, where the run's warning points to."""
    stream = sys.__stderr__
    if stream is None:
        yield
        return
    faulthandler.dump_traceback_later(HANGS_SECONDS, repeat=False, file=stream)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def visible(rows: Rows) -> pa.RecordBatch:
    """What a step sees of the rows: their data, and penstock's own columns."""
    source = rows.source
    types = source["timestamp_type"] if "timestamp_type" in source.schema.names else pa.nulls(len(rows), pa.int32())
    ids = source["schema_id"] if "schema_id" in source.schema.names else pa.nulls(len(rows), pa.int32())
    own = [TIMESTAMP_TYPES.take(types), source["key"], headers_of(source), ids]
    lineage = lineage_of(source)
    arrays = [*rows.data.columns, *lineage.columns, *own]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([*rows.data.schema, *lineage.schema, *OWN]))


def _all_out(rows: Rows, columns: pa.Schema) -> Rows:
    data = pa.RecordBatch.from_arrays([pa.nulls(len(rows), field.type) for field in columns], schema=columns)
    return Rows(rows.source, data, rows.verdicts, rows.records, rows.unknown, rows.warned)


def _middle(batch: pa.RecordBatch) -> int | None:
    """Where to cut between two records, near the middle; None if there is but one record."""
    begins = np.flatnonzero(changed(batch, RECORD))[1:]
    return int(begins[len(begins) // 2]) if len(begins) else None
