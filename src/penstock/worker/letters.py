"""Dead letters: rejected records as rows of their table, the bytes as they came and why they went no further."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from penstock.rows import DEAD_LETTER, Verdict, headers_of
from penstock.version import __version__


@dataclass(frozen=True)
class Sender:
    """Whose dead letters they are."""

    pipeline: str
    generation: int
    batch_id: int


def dead_letters(sender: Sender, source: pa.RecordBatch, verdicts: Sequence[Verdict]) -> pa.RecordBatch:
    """The records with these verdicts as rows of the dead-letter table."""
    taken = source.take(pa.array([verdict.row for verdict in verdicts], pa.int64()))
    count = len(verdicts)

    def same(value: Any, name: str) -> pa.Array:
        return pa.array([value] * count, DEAD_LETTER.field(name).type)

    columns = {name: taken[name] for name in ("topic", "partition", "offset", "timestamp", "key", "value")}
    columns["headers"] = headers_of(taken)
    for name in ("stage", "code", "field", "detail"):
        columns[name] = pa.array([getattr(verdict, name) for verdict in verdicts], pa.string())
    columns |= {
        "schema_id": taken["schema_id"] if "schema_id" in taken.schema.names else pa.nulls(count, pa.int32()),
        "pipeline": same(sender.pipeline, "pipeline"),
        "generation": same(sender.generation, "generation"),
        "batch_id": same(sender.batch_id, "batch_id"),
        "rejected_at": same(datetime.now(UTC), "rejected_at"),
        "version": same(__version__, "version"),
    }
    arrays = [columns[field.name].cast(field.type) for field in DEAD_LETTER]
    return pa.RecordBatch.from_arrays(arrays, schema=DEAD_LETTER)
