"""A table as it is now, read by delta-rs: its files, what they should hold, and the keys it remembers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from penstock.operate.audit.history import History, read_history
from penstock.sinks.delta import log

if TYPE_CHECKING:
    import numpy as np
    from deltalake import DeltaTable


class Unreadable(Exception):
    """The table cannot be looked at; the text says why."""


@dataclass(frozen=True)
class File:
    """A file of the table's newest version."""

    path: str
    """As the log writes it."""
    size: int
    rows: int | None
    """By the log, before anything was deleted from it."""
    span: tuple[int, int] | None
    """Lowest and highest offset of its lineage, where the log says so."""
    partition: dict[str, Any] = field(default_factory=dict)
    """Values of the partition columns."""

    def place(self, table: str) -> Path:
        return Path(unquote(self.path)) if self.path.startswith("/") else Path(table) / unquote(self.path)


class Snapshot:
    """One version of a table, with the history that led to it. Later commits are not seen."""

    def __init__(self, table: str, first: int = 0) -> None:
        self.table = table
        self._open = _opened(table)
        self.version = self._open.version()
        self.history = _up_to(_history(table, first), self.version)

    def watermark(self, app: str) -> int | None:
        return self._open.transaction_version(app)

    @property
    def id(self) -> str:
        return str(self._open.metadata().id)

    def physical(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """A column as the files call it: with column mapping they have names of their own."""
        fields: list[dict[str, Any]] = json.loads(self._open.schema().to_json())["fields"]
        names = []
        for name in path:
            field = next((each for each in fields if each["name"] == name), {})
            names.append(field.get("metadata", {}).get("delta.columnMapping.physicalName", name))
            kind = field.get("type")
            fields = kind["fields"] if isinstance(kind, dict) and "fields" in kind else []
        return tuple(names)

    def files(self) -> Iterator[File]:
        import pyarrow as pa

        for row in pa.table(self._open.get_add_actions(flatten=False)).to_pylist():
            yield File(
                path=row["path"],
                size=row["size_bytes"],
                rows=row.get("num_records"),
                span=_span(row.get("min") or {}, row.get("max") or {}),
                partition=row.get("partition") or {},
            )

    def kept(self) -> dict[str, np.ndarray[Any, Any]]:
        """File name -> which of its rows are left, for files with a deletion vector."""
        import numpy as np
        import pyarrow as pa

        found = pa.table(self._open.deletion_vectors())
        return {
            row["filepath"].rsplit("/", 1)[-1]: np.array(row["selection_vector"], dtype=np.bool_)
            for row in found.to_pylist()
        }


def _opened(table: str) -> DeltaTable:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    if not log.exists(table):
        raise Unreadable(f"there is no table at {table}")
    try:
        return DeltaTable(table)
    except (DeltaError, OSError) as error:
        raise Unreadable(f"table {table} cannot be read: {str(error).splitlines()[0]}") from error


def _history(table: str, first: int) -> History:
    try:
        return read_history(table, first)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"the log of table {table} cannot be read: {error}") from error


def _up_to(history: History, version: int) -> History:
    """Without what was committed after the table was opened."""
    return History([commit for commit in history.commits if commit.version <= version])


def _span(low: dict[str, Any], high: dict[str, Any]) -> tuple[int, int] | None:
    for path in (("_offset",), ("_source", "offset"), ("offset",)):
        ends: list[Any] = [low, high]
        for name in path:
            ends = [end.get(name) if isinstance(end, dict) else None for end in ends]
        if all(isinstance(end, int) for end in ends):
            return ends[0], ends[1]
    return None
