"""Samples of the dead letters: the newest rows of their table, read with bounds, without Spark.

Files are read the newest first, and only as many as are needed: a table of a hundred million dead letters answers as
quickly as one of ten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from penstock.paths import is_catalog_name, is_remote

if TYPE_CHECKING:
    from deltalake import DeltaTable

MOST_FILES = 12
"""Files that one look opens."""
MOST_BYTES = 64 * 1024 * 1024
"""Larger files are passed over: a sample is not worth it."""
COLUMNS = (
    *("topic", "partition", "offset", "timestamp", "key", "value", "stage", "code", "field", "detail"),
    *("batch_id", "rejected_at"),
)


class Unreadable(Exception):
    """The table cannot be read from here; the text says why, for people."""


@dataclass(frozen=True)
class Sample:
    """Rows of the table, the newest first."""

    rows: list[dict[str, Any]]
    files: int
    """Files that the table has."""
    looked: int
    """Files that were opened."""


def sample(table: str, limit: int, code: str | None = None) -> Sample:
    """Some of the newest dead letters, of one code or of all. Raises Unreadable."""
    found = _files(table)
    rows: list[dict[str, Any]] = []
    looked = 0
    for file in found[:MOST_FILES]:
        if len(rows) >= limit:
            break
        if file.size <= MOST_BYTES:
            rows += _rows(file, limit - len(rows), code)
        looked += 1
    return Sample(rows, len(found), looked)


@dataclass(frozen=True)
class File:
    """A file of the table."""

    path: Path
    size: int
    left: Any = None
    """Which of its rows are left, if its owner deleted some of them."""


def _files(table: str) -> list[File]:
    """The table's files, the newest first."""
    import pyarrow as pa
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    if is_remote(table) or is_catalog_name(table):
        raise Unreadable(f"{table} is not a folder of this machine, and this page reads no other.")
    try:
        opened = DeltaTable(table)
        actions, left = pa.table(opened.get_add_actions(flatten=True)), _left(opened)
    except TableNotFoundError:
        return []
    except (DeltaError, OSError, ValueError) as error:
        raise Unreadable(f"{table} cannot be read: {error}") from error
    paths, times = actions.column("path").to_pylist(), actions.column("modification_time").to_pylist()
    sizes = actions.column("size_bytes").to_pylist()
    newest = sorted(zip(times, paths, sizes, strict=True), reverse=True, key=lambda each: each[:2])
    return [File(Path(table, unquote(path)), size, left.get(Path(path).name)) for _, path, size in newest]


def _left(table: DeltaTable) -> dict[str, Any]:
    """Name of a file -> which of its rows its deletion vector leaves, as a mask."""
    import pyarrow as pa

    if "deletionVectors" not in (table.protocol().reader_features or ()):
        return {}
    found = pa.table(table.deletion_vectors())
    names = (Path(path).name for path in found.column("filepath").to_pylist())
    return dict(zip(names, found.column("selection_vector"), strict=True))


def _rows(file: File, limit: int, code: str | None) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        found = pq.read_table(file.path, columns=list(COLUMNS), partitioning=None)
    except FileNotFoundError:  # vacuumed meanwhile
        return []
    except (pa.ArrowInvalid, OSError) as error:
        raise Unreadable(f"{file.path} cannot be read: {error}") from error
    if file.left is not None:
        mask = file.left.values
        rest = pa.array([True] * (found.num_rows - len(mask)), pa.bool_())  # behind its end nothing is deleted
        found = found.filter(pa.chunked_array([mask, rest], pa.bool_()))
    if code is not None:
        found = found.filter(pc.equal(found["code"], code))
    return list(_newest(found.slice(max(0, found.num_rows - limit)).to_pylist()))


def _newest(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return iter(sorted(rows, key=lambda row: (row["rejected_at"], row["offset"]), reverse=True))
