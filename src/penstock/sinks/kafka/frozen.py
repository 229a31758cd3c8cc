"""Frozen rows: what will be sent, as Parquet files under the batch's stage. Each file is in the order of the source."""

from __future__ import annotations

import json
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.files import sync
from penstock.rows import HEADERS, RECORD
from penstock.sinks.contract import FrozenFile

HELD_BYTES = 64 * 2**20
"""Most bytes of rows that a task holds back, to write them in order and in large row groups."""

FROZEN = pa.schema(
    [
        pa.field("_topic", pa.string()),
        pa.field("_partition", pa.int32()),
        pa.field("_offset", pa.int64()),
        pa.field("topic", pa.string()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
    ]
)
"""A row as it will be sent, and where it came from."""


class Place(NamedTuple):
    """Where a row came from; rows are sent in this order."""

    topic: str
    partition: int
    offset: int


class FrozenRows:
    """One task's files. A file is one ascending run: where rows come out of order, a second file is begun."""

    def __init__(self, stage: Path, name: str, limits: dict[str, int]) -> None:
        self.stage, self.name, self.limits = stage, name, limits
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._file: _Run | None = None
        self._done: list[FrozenFile] = []

    def add(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            self._held.append(rows)
            self._held_bytes += rows.nbytes
        if self._held_bytes >= HELD_BYTES:
            self._flush()

    def close(self) -> list[FrozenFile]:
        """Finish: every file whole and on disk, its name too."""
        self._flush()
        self._end_file()
        if self._done:
            sync(self.stage)
        return self._done

    def _flush(self) -> None:
        if not self._held:
            return
        rows = in_order(pa.Table.from_batches(self._held, FROZEN))
        self._held, self._held_bytes = [], 0
        if self._file is not None and self._file.last > place_of(rows, 0):
            self._end_file()
        if self._file is None:
            self._file = _Run(self.stage / f"{self.name}-{uuid.uuid4()}.parquet", self.limits)
        self._file.write(rows)

    def _end_file(self) -> None:
        if self._file is not None:
            self._done.append(self._file.close())
            self._file = None


class _Run:
    """A file being written, in order."""

    def __init__(self, path: Path, limits: dict[str, int]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.limits = path, limits
        self.rows = 0
        self.first = self.last = Place("", 0, 0)
        self.topics: set[str] = set()
        self._writer: Any = pq.ParquetWriter(
            str(path), FROZEN, compression="zstd", compression_level=1, use_dictionary=["_topic", "topic"]
        )

    def write(self, rows: pa.Table) -> None:
        self.first = self.first if self.rows else place_of(rows, 0)
        self.last = place_of(rows, -1)
        self.topics.update(pc.unique(rows["topic"]).to_pylist())
        self.rows += rows.num_rows
        try:
            self._writer.write_table(rows)
        except OSError:
            self._abandon()
            raise

    def close(self) -> FrozenFile:
        try:
            self._writer.close()
            sync(self.path)
        except OSError:
            self._abandon()
            raise
        limits = {topic: self.limits[topic] for topic in sorted(self.topics)}
        stats = json.dumps({"first": self.first, "last": self.last, "limits": limits}, separators=(",", ":"))
        return FrozenFile(self.path.name, self.path.stat().st_size, self.rows, stats)

    def _abandon(self) -> None:
        """Take the broken file away: on a full disk its space is needed."""
        with suppress(OSError):  # what could not be written cannot be closed well either
            self._writer.close()
        self.path.unlink(missing_ok=True)


def place_of(rows: pa.Table, row: int) -> Place:
    return Place(*(rows[name][row].as_py() for name in RECORD))


def in_order(rows: pa.Table) -> pa.Table:
    """The rows in the order of the source; rows of one record stay in the order they have."""
    return rows if _ascends(rows) else rows.take(pc.sort_indices(rows, [(name, "ascending") for name in RECORD]))


def _ascends(rows: pa.Table) -> bool:
    """Nearly always: a task reads one partition, from its first offset to its last."""
    if any(len(pc.unique(rows[name])) > 1 for name in ("_topic", "_partition")):
        return False
    return bool(np.all(np.diff(rows["_offset"].to_numpy()) >= 0))
