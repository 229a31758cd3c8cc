"""The row contract: what every record carries from the source to the write.

Inside the Python worker records travel in Arrow batches. `Rows` is one batch with its story: where each record
came from (`source`), what it says (`data`, by row; it means nothing where the record is out), and why a record
cannot go on (`verdicts`, only for those that are out). Stages add to it; rows part ways once, at the write.
"""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

Mask: TypeAlias = np.ndarray[tuple[int], np.dtype[np.bool_]]
Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[np.int64]]

TIME = pa.timestamp("us", "UTC")
HEADERS = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))

SOURCE = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", TIME),
        pa.field("timestamp_type", pa.int32()),
        pa.field("headers", pa.string()),
        pa.field("schema_id", pa.int32()),
    ]
)
"""What a source hands over. `headers` is JSON text, `[{"key": ..., "value": base64}]`, null where there are none.

`schema_id` is added by the decoder of a format that has such; the source itself has no such column.
"""
READ = tuple(name for name in SOURCE.names if name != "schema_id")
"""The columns that the source itself gives."""

LINEAGE = pa.schema(
    [
        pa.field("_topic", pa.string()),
        pa.field("_partition", pa.int32()),
        pa.field("_offset", pa.int64()),
        pa.field("_timestamp", TIME),
    ]
)
"""What every written row keeps of its origin: the audit rests on it."""
RECORD = ("_topic", "_partition", "_offset")
"""What of the lineage tells records apart."""

DEAD_LETTER = pa.schema(
    [
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", TIME),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
        pa.field("stage", pa.string()),
        pa.field("code", pa.string()),
        pa.field("field", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("schema_id", pa.int32()),
        pa.field("pipeline", pa.string()),
        pa.field("generation", pa.int32()),
        pa.field("batch_id", pa.int64()),
        pa.field("rejected_at", TIME),
        pa.field("version", pa.string()),
    ]
)
"""A rejected record: the bytes as they came, where they came from, and why they went no further."""


class Verdict(NamedTuple):
    """Why one record of a batch goes no further."""

    row: int
    """Index of the record in its batch."""
    code: str
    """A reject code (`wrong_type`) or, for a drop, its name."""
    field: str | None = None
    """JSON pointer of the field at fault (`/items/0/qty`)."""
    detail: str | None = None
    """One sentence for a person; never the whole value."""
    stage: str = "decode"
    drop: bool = False
    """Dropped by name, on the pipeline's wish, instead of rejected."""
    stop: bool = False
    """The pipeline is to stop at such a record, before anything of its batch is visible."""


@dataclass(frozen=True)
class Rows:
    """One Arrow batch of rows with their story: one partition after another, each in one stretch.

    Every record is here with at least one row: one that is out (it has a verdict) with exactly one, whose data mean
    nothing any more; one that a step turned into several, with several, side by side.
    """

    source: pa.RecordBatch
    """The columns of `SOURCE`, by row."""
    data: pa.RecordBatch
    verdicts: tuple[Verdict, ...] = ()
    """Why rows are out: at most one for each."""
    records: Numbers | None = None
    """For each row the number of its record, ascending; None where each row is a record of its own."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """Fields that the schema does not name, and in how many records each was seen."""
    warned: Mapping[str, int] = field(default_factory=dict)
    """Checks that only warn, and how many records failed each."""
    large: int = 0
    """Large records that were seen (see steps/weighing.py); told in a batch without rows."""
    routes: Mapping[str, pa.StructArray] = field(default_factory=dict)
    """Sink -> what its own expressions gave for each row (see `crossing.ROUTE`)."""

    def __len__(self) -> int:
        return int(self.source.num_rows)

    @cached_property
    def good(self) -> Mask:
        """Mask of the rows that are still on their way. Not to be written to: every sink is given the same one."""
        mask = np.ones(len(self), dtype=np.bool_)
        mask[[verdict.row for verdict in self.verdicts]] = False
        return mask

    @cached_property
    def lineage(self) -> pa.RecordBatch:
        """The lineage columns, by row."""
        return lineage_of(self.source)

    def firsts(self, mask: Mask | None = None) -> Numbers:
        """The first row in this mask of every record that has one; without a mask, of every record."""
        rows = np.arange(len(self)) if mask is None else np.flatnonzero(mask)
        if self.records is None:
            return rows
        first: Numbers = rows[begins(self.records[rows])]
        return first

    def count(self, mask: Mask | None = None) -> int:
        """Records that have a row in this mask; without one, all records."""
        return len(self.firsts(mask))


def begins(records: Numbers) -> Mask:
    """The rows at which a record begins, by the numbers of their records."""
    mask: Mask = np.diff(records, prepend=-1) != 0
    return mask


def headers_of(source: pa.RecordBatch) -> pa.Array:
    """The headers of these source records, as they came; an empty list where there are none."""
    return pa.array([_headers(text) for text in source["headers"].to_pylist()], HEADERS)


def _headers(text: str | None) -> list[dict[str, Any]]:
    return [{"key": one["key"], "value": _bytes(one.get("value"))} for one in json.loads(text or "[]")]


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)


def lineage_of(source: pa.RecordBatch) -> pa.RecordBatch:
    """The lineage columns of these source records."""
    when = source["timestamp"].cast(TIME)  # a session of the user's own may run in another time zone
    return pa.RecordBatch.from_arrays([source["topic"], source["partition"], source["offset"], when], schema=LINEAGE)
