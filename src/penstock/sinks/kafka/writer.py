"""The half of the sink that runs in a task: rows into frozen records. A row that its topic cannot take comes back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.encode.json_values import encode
from penstock.rows import HEADERS, RECORD
from penstock.sinks.contract import FrozenFile, Misfit, RecordNumbers
from penstock.sinks.fitting import fitting
from penstock.sinks.kafka.frozen import FROZEN, FrozenRows
from penstock.sinks.kafka.sizes import lineage_bytes, sizes
from penstock.sinks.kafka.target import KafkaTarget


class KafkaWriter:
    """One task's frozen rows. A failed task leaves files that no manifest names; they go with the stage."""

    def __init__(self, target: KafkaTarget, tag: str) -> None:
        self.target = target
        self.frozen = FrozenRows(Path(target.stage), f"{target.sink}-{tag}", target.limits)
        self._names = pa.array(list(target.limits), pa.string())
        self._registered = target.registered.writer() if target.registered else None
        self._limits = np.array(list(target.limits.values()), np.int64)

    def write(self, rows: pa.RecordBatch, records: RecordNumbers = None) -> list[Misfit]:
        """Take these rows, but for records that cannot be said in its format, or that their topic does not take."""
        value, found = self._values(rows)
        made = self._records(rows, value)
        for misfit in self._refused(made):
            found.setdefault(misfit.row, misfit)
        misfits = [found[row] for row in sorted(found)]
        if misfits:
            made = made.filter(pa.array(fitting(made.num_rows, misfits, records)))
        self.frozen.add(made)
        return misfits

    def close(self) -> list[FrozenFile]:
        return self.frozen.close()

    def _values(self, rows: pa.RecordBatch) -> tuple[pa.Array, dict[int, Misfit]]:
        if self.target.value == "raw":
            return rows["__value"], {}
        names = [name for name in rows.schema.names if not name.startswith("_")]
        encoded = self._registered.encode(rows) if self._registered else encode(rows.select(names))
        found: dict[int, Misfit] = {}
        for flaw in encoded.flaws:
            found.setdefault(flaw.row, Misfit(*flaw))
        return encoded.values, found

    def _records(self, rows: pa.RecordBatch, value: pa.Array) -> pa.RecordBatch:
        count, target = rows.num_rows, self.target
        arrays = [
            *(rows[name] for name in RECORD),
            rows["__topic"] if target.topic is None else pa.repeat(target.topic, count),
            rows["__key"] if target.key else pa.nulls(count, pa.binary()),
            value,
            rows["__headers"] if target.headers else pa.nulls(count, HEADERS),
        ]
        cast = [array.cast(field.type) for array, field in zip(arrays, FROZEN, strict=True)]
        return pa.RecordBatch.from_arrays(cast, schema=FROZEN)

    def _refused(self, made: pa.RecordBatch) -> list[Misfit]:
        """Rows whose topic does not exist, or is too small for them."""
        topics, size = made["topic"], sizes(made["key"], made["value"], made["headers"])
        size += lineage_bytes(made["_topic"], self.target.pipeline, self.target.sink if self.target.named else None)
        place = pc.index_in(topics, value_set=self._names)
        known = place.is_valid().to_numpy(zero_copy_only=False)
        limit = np.zeros(len(size), np.int64)
        limit[known] = self._limits[place.drop_null().to_numpy()]
        return [
            _too_large(int(row), topics[row].as_py(), int(size[row]), int(limit[row]))
            if known[row]
            else _unknown(int(row), topics[row].as_py())
            for row in np.flatnonzero(size > limit)
        ]


def _unknown(row: int, topic: str | None) -> Misfit:
    why = "`topic_from` gave no topic." if topic is None else f"There is no topic `{topic[:249]}` on the cluster."
    return Misfit(row, None, why, "unknown_topic")


def _too_large(row: int, topic: str, size: int, limit: int) -> Misfit:
    why = f"The record takes up to {size:,} bytes, and topic `{topic}` allows {limit:,}."
    return Misfit(row, None, why, "too_large_out")
