"""A table of very many files, made cheaply: its log is written by hand, and the files themselves are not there.

Whatever only reads and writes the log cannot tell.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

from deltalake import DeltaTable

from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.sink_suite import COLUMNS

PER_COMMIT = 1000


def make(table: str, files: int, *, checkpoint: bool = True) -> None:
    """Give the table this many files more. Creates it if it is absent."""
    DeltaCommitter("lake", table).prepare(COLUMNS)
    log = Path(table) / "_delta_log"
    version = DeltaTable(table).version()
    for first in range(0, files, PER_COMMIT):
        version += 1
        lines = [*_adds(first, min(first + PER_COMMIT, files)), {"txn": {"appId": "elsewhere", "version": version}}]
        (log / f"{version:020d}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    if checkpoint:
        DeltaTable(table).create_checkpoint()


def _adds(first: int, end: int) -> Iterator[dict[str, object]]:
    for number in range(first, end):
        stats = {
            "numRecords": 1000,
            "minValues": {"id": number * 1000, "name": f"name {number}", "_offset": number},
            "maxValues": {"id": number * 1000 + 999, "name": f"name {number}9", "_offset": number + 999},
            "nullCount": {"id": 0, "name": 3, "_offset": 0},
        }
        path = f"part-{number}-{uuid.uuid4()}.zstd.parquet"
        file = {"path": path, "partitionValues": {}, "size": 40_000, "modificationTime": 1, "dataChange": True}
        yield {"add": {**file, "stats": json.dumps(stats)}}
