"""Where the rows of a table came from, streamed from its files: topic, partition and offset of every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.operate.audit.snapshot import File, Snapshot

Offsets: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"
BATCH_ROWS = 262_144

Paths = tuple[tuple[str, ...], ...]
COLUMNS = (("_topic",), ("_partition",), ("_offset",))
STRUCT = (("_source", "topic"), ("_source", "partition"), ("_source", "offset"))
LETTERS = (("topic",), ("partition",), ("offset",))
LABELS = ("stage", "pipeline")
"""What else is read of a dead letter."""


class Piece(NamedTuple):
    """Rows of one partition. `label` is a dead letter's stage; None for a table's rows."""

    topic: str
    partition: int
    offsets: Offsets
    label: str | None = None


@dataclass
class Reader:
    """Streams one table."""

    snapshot: Snapshot
    pipeline: str
    letters: bool = False
    anonymous: int = 0
    """Rows without lineage: somebody else's."""
    blocked: list[str] = field(default_factory=list)
    """Files that are there, and may not be read."""

    def pieces(self, low: int, high: int, *, everything: bool) -> Iterator[Piece]:
        """The rows of files that may hold offsets between `low` and `high`, or of all files."""
        self.anonymous, self.blocked = 0, []
        kept = self.snapshot.kept()
        for file in self.snapshot.files():
            if everything or file.span is None or (file.span[0] <= high and low <= file.span[1]):
                yield from self._file(file, kept.get(file.path.rsplit("/", 1)[-1]))

    def of_files(self, paths: Sequence[str]) -> list[Piece] | None:
        """The rows of these files, also of those whose rows were moved into others; None if one is gone."""
        now = {file.path: file for file in self.snapshot.files()}
        files = [now.get(path, File(path, 0, None, None)) for path in paths]
        if not all(file.place(self.snapshot.table).exists() for file in files):
            return None
        kept = self.snapshot.kept()
        return [piece for file in files for piece in self._file(file, kept.get(file.path.rsplit("/", 1)[-1]))]

    def _file(self, file: File, kept: Any) -> Iterator[Piece]:
        try:
            with pq.ParquetFile(str(file.place(self.snapshot.table))) as reader:
                paths = self._paths(reader.schema_arrow)
                names = [".".join(path) for path in paths]
                at = 0
                for rows in reader.iter_batches(BATCH_ROWS, columns=[*names, *(LABELS if self.letters else ())]):
                    mask = None if kept is None else _mask(kept, at, rows.num_rows)
                    at += rows.num_rows
                    yield from self._rows(_flat(rows, paths, file), rows, mask)
        except PermissionError:
            self.blocked.append(file.path)
        except (OSError, pa.ArrowException):
            return  # gone or cut: nobody can read its rows any more, and the look at the files has told so

    def _paths(self, schema: pa.Schema) -> Paths:
        if self.letters:
            return LETTERS
        columns, struct = self._physical
        return struct if struct[0][0] in schema.names and columns[-1][0] not in schema.names else columns

    @cached_property
    def _physical(self) -> tuple[Paths, Paths]:
        columns, struct = (tuple(self.snapshot.physical(path) for path in paths) for paths in (COLUMNS, STRUCT))
        return columns, struct

    def _rows(self, origin: list[pa.Array], rows: pa.RecordBatch, mask: Any) -> Iterator[Piece]:
        table = pa.table(dict(zip(("topic", "partition", "offset"), origin, strict=True)))
        if self.letters:
            table = table.append_column("label", _plain(rows["stage"]))
            table = table.filter(pc.equal(_plain(rows["pipeline"]), self.pipeline))
        if mask is not None:
            table = table.filter(pa.array(mask))
        whole = table.drop_null() if not self.letters else table
        self.anonymous += table.num_rows - whole.num_rows
        yield from _split(whole)


def _flat(rows: pa.RecordBatch, paths: Paths, file: File) -> list[pa.Array]:
    """The three columns; one that is not in the file stands in the log, or is null in every row."""
    return [_column(rows, path, file) for path in paths]


def _column(rows: pa.RecordBatch, path: tuple[str, ...], file: File) -> pa.Array:
    if path[0] not in rows.schema.names:
        value = file.partition.get(path[0])
        return pa.array([value] * rows.num_rows, pa.string() if isinstance(value, str) else pa.int64())
    column = pc.struct_field(rows[path[0]], list(path[1:])) if path[1:] else rows[path[0]]
    return _plain(column)


def _plain(column: pa.Array) -> pa.Array:
    """Text as plain strings: other writers have views and dictionaries, which not every function takes."""
    return column if pa.types.is_integer(column.type) else column.cast(pa.string())


def _split(rows: pa.Table) -> Iterator[Piece]:
    """The rows by partition; nearly always all are of one."""
    if rows.num_rows == 0:
        return
    keys = ["topic", "partition", *(["label"] if "label" in rows.column_names else [])]
    groups = rows.group_by(keys).aggregate([]).to_pylist()
    for group in groups:
        mine = rows
        if len(groups) > 1:
            mine = rows.filter(_all(pc.equal(rows[name], group[name]) for name in keys))
        offsets = mine["offset"].cast(pa.int64()).to_numpy()
        yield Piece(group["topic"], int(group["partition"]), offsets, group.get("label"))


def _all(conditions: Iterator[Any]) -> Any:
    whole = next(conditions)
    for condition in conditions:
        whole = pc.and_(whole, condition)
    return whole


def _mask(kept: Any, at: int, count: int) -> Any:
    """Which of these rows a deletion vector leaves; behind its end, all."""
    part = kept[at : at + count]
    return np.concatenate([part, np.ones(count - len(part), dtype=np.bool_)])
