"""Our own commits and those of another writer, what is in the table then, and which files were opened for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.sink_suite import key, rows

APP = key(0).app


def lake(table: str) -> DeltaCommitter:
    return DeltaCommitter("lake", table)


def log_of(table: str) -> Path:
    return Path(table) / "_delta_log"


def ids(table: str) -> list[int]:
    return sorted(pa.table(DeltaTable(table).scan()).column("id").to_pylist())


def append(table: str, start: int) -> None:
    """What another writer does."""
    write_deltalake(table, pa.table(rows(1, start=start)), mode="append")


listeners: list[list[str]] = []
"""Those who want to know which files are opened. A hook cannot be taken away again."""


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and not isinstance(args[0], int):  # a number is a file that is open already
        for names in listeners:
            names.append(Path(os.fsdecode(args[0])).name)


sys.addaudithook(_heard)


@contextmanager
def listening() -> Iterator[list[str]]:
    """The names of the files that Python opens meanwhile."""
    listeners.append([])
    try:
        yield listeners[-1]
    finally:
        listeners.pop()
