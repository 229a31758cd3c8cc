"""Rejected records on their way to the dead-letter topic: as they came, with the reason in headers `penstock.*`."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.rows import HEADERS
from penstock.sinks.contract import FrozenFile, Misfit, RecordNumbers
from penstock.sinks.kafka.frozen import FROZEN, FrozenRows
from penstock.sinks.kafka.sizes import sizes
from penstock.sinks.kafka.target import DeadLetterTarget

TOLD = (
    "stage", "code", "field", "detail", "topic", "partition", "offset", "timestamp", "schema_id", "pipeline",
    "generation", "batch_id", "rejected_at", "version",
)  # fmt: skip
"""The columns of a dead letter that become headers; one that is null is left out."""
Header = dict[str, Any]


class DeadLetterWriter:
    """One task's dead letters. Nothing is refused here: what is too large goes without its value, and says so."""

    def __init__(self, target: DeadLetterTarget, tag: str) -> None:
        self.target = target
        self.frozen = FrozenRows(Path(target.stage), f"{target.sink}-{tag}", {target.topic: target.limit})

    def write(self, rows: pa.RecordBatch, records: RecordNumbers = None) -> list[Misfit]:
        told = _told(rows)
        key, value = rows["key"], rows["value"]
        headers = pa.array(
            [(own or []) + reason for own, reason in zip(rows["headers"].to_pylist(), told, strict=True)], HEADERS
        )
        for row in np.flatnonzero(sizes(key, value, headers) > self.target.limit).tolist():
            key, value, headers = self._reduced(row, told[row], key, value, headers)
        self.frozen.add(self._records(rows, key, value, headers))
        return []

    def close(self) -> list[FrozenFile]:
        return self.frozen.close()

    def _records(self, rows: pa.RecordBatch, key: pa.Array, value: pa.Array, headers: pa.Array) -> pa.RecordBatch:
        origin = [rows["topic"], rows["partition"], rows["offset"]]
        topic = pa.repeat(self.target.topic, rows.num_rows)
        return pa.RecordBatch.from_arrays([*origin, topic, key, value, headers], schema=FROZEN)

    def _reduced(
        self, row: int, told: list[Header], key: pa.Array, value: pa.Array, headers: pa.Array
    ) -> tuple[pa.Array, pa.Array, pa.Array]:
        """The same records, this one without its value; if that is not enough, without its headers and its key too.

        What was left out can be fetched where the record came from: `penstock.topic`, `.partition` and `.offset` say
        where, `penstock.sha256` whether it is the same.
        """
        body = value[row].as_py()
        mark = [] if body is None else [_header("sha256", sha256(body).hexdigest()), _header("size", len(body))]
        value = _with(value, row, None if body is None else b"")
        headers = _with(headers, row, headers[row].as_py() + mark)
        if self._fits(key, value, headers, row):
            return key, value, headers
        headers = _with(headers, row, [*told, *mark, _header("cut", "headers")])
        if self._fits(key, value, headers, row):
            return key, value, headers
        return _with(key, row, None), value, _with(headers, row, [*told, *mark, _header("cut", "headers, key")])

    def _fits(self, key: pa.Array, value: pa.Array, headers: pa.Array, row: int) -> bool:
        one = slice(row, row + 1)
        return bool(sizes(key[one], value[one], headers[one])[0] <= self.target.limit)


def _told(rows: pa.RecordBatch) -> list[list[Header]]:
    """For each record its headers of ours."""
    columns = {name: rows[name].to_pylist() for name in TOLD}
    return [
        [_header(name, column[row]) for name, column in columns.items() if column[row] is not None]
        for row in range(rows.num_rows)
    ]


def _header(name: str, value: Any) -> Header:
    text = value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
    return {"key": f"penstock.{name}", "value": text.encode()}


def _with(array: pa.Array, row: int, value: Any) -> pa.Array:
    """The array with another value in this row."""
    put = pa.array([value], array.type)
    return pa.concat_arrays([array[:row], put, array[row + 1 :]])
