"""Samples of the dead letters: the newest rows of their table, read with bounds, without Spark.

Files are read the newest first, and only as many as are needed: a table of a hundred million dead letters answers as
quickly as one of ten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from penstock.paths import is_catalog_name, is_remote

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
    for path, size in found[:MOST_FILES]:
        if len(rows) >= limit:
            break
        if size <= MOST_BYTES:
            rows += _rows(path, limit - len(rows), code)
        looked += 1
    return Sample(rows, len(found), looked)


def _files(table: str) -> list[tuple[Path, int]]:
    """The table's files, the newest first."""
    import pyarrow as pa
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    if is_remote(table) or is_catalog_name(table):
        raise Unreadable(f"{table} is not a folder of this machine, and this page reads no other.")
    try:
        actions = pa.table(DeltaTable(table).get_add_actions(flatten=True))
    except TableNotFoundError:
        return []
    except (DeltaError, OSError, ValueError) as error:
        raise Unreadable(f"{table} cannot be read: {error}") from error
    paths, times = actions.column("path").to_pylist(), actions.column("modification_time").to_pylist()
    sizes = actions.column("size_bytes").to_pylist()
    newest = sorted(zip(times, paths, sizes, strict=True), reverse=True, key=lambda each: each[:2])
    return [(Path(table, unquote(path)), size) for _, path, size in newest]


def _rows(path: Path, limit: int, code: str | None) -> list[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        filters = None if code is None else [("code", "=", code)]
        found = pq.read_table(path, columns=list(COLUMNS), filters=filters, partitioning=None)
    except FileNotFoundError:  # vacuumed meanwhile
        return []
    except (pa.ArrowInvalid, OSError) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    return list(_newest(found.slice(max(0, found.num_rows - limit)).to_pylist()))


def _newest(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return iter(sorted(rows, key=lambda row: (row["rejected_at"], row["offset"]), reverse=True))
