"""The health of a Delta table, read from its log: how many files, how small, how old, and which batch it has."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import Refused

SMALL_BYTES = 32_000_000
"""A file below this is small: reading many of them costs more than reading what is in them."""


@dataclass(frozen=True)
class TableHealth:
    """What a table's log tells."""

    path: str
    version: int
    files: int
    bytes: int
    small_files: int
    last_commit_at: float | None
    batch_id: int | None
    """The newest batch of the query that the table has, if it knows the query."""

    @property
    def average_bytes(self) -> float:
        return self.bytes / self.files if self.files else 0.0

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "average_bytes": round(self.average_bytes)}


def table_health(path: str, query_id: str | None = None) -> TableHealth:
    """How the table is now. Refused where there is no table that can be read."""
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    try:
        table = DeltaTable(Path(path).absolute() if "://" not in path else path)
        sizes = table.get_add_actions(flatten=True)["size_bytes"].to_pylist()
        last = next(iter(table.history(1)), {})
        batch = table.transaction_version(query_id) if query_id else None
    except (TableNotFoundError, DeltaError, OSError) as error:
        raise Refused(
            f"{path}: this is no Delta table that can be read: {str(error).splitlines()[0]}.",
            data="Nothing was changed.",
            remedy="Name the folder that holds `_delta_log`.",
        ) from error
    at = last.get("timestamp")
    return TableHealth(
        path=path,
        version=table.version(),
        files=len(sizes),
        bytes=sum(sizes),
        small_files=sum(size < SMALL_BYTES for size in sizes),
        last_commit_at=at / 1000 if at else None,
        batch_id=batch,
    )


def age_of(table: TableHealth) -> float | None:
    """Seconds since its last commit."""
    return None if table.last_commit_at is None else max(0.0, time.time() - table.last_commit_at)
