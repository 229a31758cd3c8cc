"""One Parquet file of a table: rows are gathered into row groups, bounded in rows and in bytes."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.sinks.contract import FrozenFile
from penstock.sinks.delta.stats import Leaf, leaves, statistics

GROUP_BYTES = 64 * 2**20
GROUP_ROWS = 2**20
SAMPLE_ROWS = 4096
FEW = 16
"""Rows of one record each that are not worth counting bytes for: a record is at most a few megabytes."""
WIDE = 256
"""Bytes; values wider than this on average are not worth a dictionary."""


class Layout:
    """What all files of one task have in common."""

    def __init__(self, schema: pa.Schema, wanted: list[Leaf]) -> None:
        self.schema, self.wanted = schema, wanted
        self._dictionary: list[str] | None = None

    def dictionary(self, first: pa.Table) -> list[str]:
        """The columns that get a dictionary, judged once: by the first rows of the first file."""
        if self._dictionary is None:
            self._dictionary = _repetitive(first.slice(0, SAMPLE_ROWS))
        return self._dictionary


class Part:
    """A file being written. Nothing is on disk before the first row group is full or the file is closed."""

    def __init__(self, folder: Path, tag: str, layout: Layout) -> None:
        self.path = folder / f"part-{tag}-{uuid.uuid4()}.zstd.parquet"
        self.layout, self.wanted = layout, layout.wanted
        self.rows = self.held_bytes = self._held_rows = 0
        self._held: list[pa.RecordBatch] = []
        self._file: Any = None
        self._nan: set[tuple[str, ...]] = set()
        self._nulls: dict[tuple[str, ...], int] = {
            leaf.path: 0 for leaf in self.wanted if not leaf.plain and len(leaf.path) == 1
        }

    def add(self, rows: pa.RecordBatch) -> None:
        for piece in [rows] if rows.num_rows <= FEW else _bounded(rows):
            size = piece.nbytes
            if self.held_bytes + size > GROUP_BYTES:
                self.flush()
            self._held.append(piece)
            self.held_bytes += size
            self._held_rows += piece.num_rows
            if self.held_bytes >= GROUP_BYTES or self._held_rows >= GROUP_ROWS:
                self.flush()

    def flush(self) -> None:
        """Write what is held as one row group."""
        if not self._held:
            return
        table = pa.Table.from_batches(self._held, self.layout.schema)
        self._held, self.held_bytes, self._held_rows = [], 0, 0
        self._look(table)
        try:
            if self._file is None:
                self._file = self._open(table)
            self._file.write_table(table, row_group_size=max(1, table.num_rows))
        except OSError:
            self._abandon()
            raise
        self.rows += table.num_rows

    def close(self, partition_values: dict[str, str | None]) -> FrozenFile:
        """The finished file. It is not synced to disk yet."""
        self.flush()
        try:
            self._file.close()
        except OSError:
            self._abandon()
            raise
        stats = statistics(self._file.writer.metadata, self.wanted, self._nan, self._nulls)
        size = self.path.stat().st_size
        return FrozenFile(self.path.name, size, self.rows, stats, partition_values)

    def _open(self, first: pa.Table) -> Any:
        return pq.ParquetWriter(
            str(self.path),
            self.layout.schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=self.layout.dictionary(first) or False,
            store_decimal_as_integer=True,
            store_schema=False,
        )

    def _look(self, table: pa.Table) -> None:
        """Note what the footer will not tell: NaN, and nulls of arrays and maps."""
        for leaf in self.wanted:
            if pa.types.is_floating(leaf.type) and leaf.path not in self._nan:
                if pc.any(pc.is_nan(_values(table, leaf.path))).as_py():
                    self._nan.add(leaf.path)
            elif leaf.path in self._nulls:
                self._nulls[leaf.path] += table[leaf.path[0]].null_count

    def _abandon(self) -> None:
        """Take the broken file away: on a full disk its space is needed. Nobody knows its name yet."""
        with suppress(OSError):  # what could not be written cannot be closed well either
            if self._file is not None:
                self._file.close()
        self.path.unlink(missing_ok=True)


def _bounded(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The rows in pieces that fit a row group."""
    step = min(rows.num_rows, GROUP_ROWS, max(1, GROUP_BYTES * rows.num_rows // max(1, rows.nbytes)))
    for start in range(0, rows.num_rows, max(1, step)):
        yield rows.slice(start, step)


def _values(table: pa.Table, path: tuple[str, ...]) -> Any:
    column = table[path[0]]
    return pc.struct_field(column, list(path[1:])) if path[1:] else column


def _repetitive(sample: pa.Table) -> list[str]:
    """The columns that a dictionary makes smaller and faster, judged by the first rows; others would pay for nothing.

    Columns inside arrays and maps are left to the dictionary's own way out: it gives up when it grows too large.
    """
    names = []
    for leaf in leaves(sample.schema):
        if not leaf.plain:
            names += _parquet_names(leaf.type, ".".join(leaf.path))
            continue
        values = _values(sample, leaf.path)
        if values.nbytes <= WIDE * sample.num_rows and len(pc.unique(values)) <= 1 + sample.num_rows // 4:
            names.append(".".join(leaf.path))
    return names


def _parquet_names(kind: pa.DataType, path: str) -> list[str]:
    """The Parquet columns of a type: arrays and maps have a level of their own in between."""
    if pa.types.is_struct(kind):
        return [name for inner in kind for name in _parquet_names(inner.type, f"{path}.{inner.name}")]
    if pa.types.is_map(kind):
        pairs = ((kind.key_type, "key"), (kind.item_type, "value"))
        return [name for inner, end in pairs for name in _parquet_names(inner, f"{path}.key_value.{end}")]
    return _parquet_names(kind.value_type, f"{path}.list.element") if pa.types.is_nested(kind) else [path]
