"""A Delta table as the doctor sees it: its health, its properties, its log and what lies in its folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from penstock.operate.tablehealth import TableHealth, table_health
from penstock.sinks.delta.log import LOG
from penstock.sinks.delta.snapshots import listing

MOST_FILES = 200_000
"""Beyond so many the folder is not looked at to its end."""


@dataclass(frozen=True)
class TableLook:
    """What was seen of one table."""

    name: str
    health: TableHealth
    configuration: dict[str, str]
    since_checkpoint: int
    """Commits after the newest checkpoint of the log: every reader reads them one by one."""
    log_bytes: int
    """Of those commits."""
    dead_files: int
    """Data files in the folder that the table does not need: tombstones, and what nobody committed."""
    dead_bytes: int
    whole: bool = True


def look_at(name: str, path: str, query_id: str | None = None) -> TableLook:
    """Look at this table. Raises Refused where it cannot be read."""
    from deltalake import DeltaTable

    health = table_health(path, query_id)
    local = "://" not in path
    commits, size = _log(Path(path)) if local else (0, 0)
    count, weight, whole = _folder(Path(path)) if local else (health.files, health.bytes, False)
    configuration = dict(DeltaTable(path).metadata().configuration)
    return TableLook(
        name=name,
        health=health,
        configuration={key: str(value) for key, value in configuration.items()},
        since_checkpoint=commits,
        log_bytes=size,
        dead_files=max(0, count - health.files),
        dead_bytes=max(0, weight - health.bytes),
        whole=whole,
    )


def _log(table: Path) -> tuple[int, int]:
    """How many commits follow the newest checkpoint, and their bytes."""
    sizes = dict(_sizes(table / LOG))
    found = listing(sizes)
    newest = found.snapshots[0].version if found.snapshots else -1
    late = [version for version in found.commits if version > newest]
    return len(late), sum(sizes.get(f"{version:020d}.json", 0) for version in late)


def _sizes(log: Path) -> Iterator[tuple[str, int]]:
    for entry in os.scandir(log):
        with suppress(FileNotFoundError):  # the draft of a commit that was just made, or a commit that was cleaned up
            if entry.is_file():
                yield entry.name, entry.stat().st_size


def _folder(table: Path) -> tuple[int, int, bool]:
    """Data files in the folder and their bytes; and whether all of it was looked at."""
    count = size = 0
    for parent, folders, names in os.walk(table):
        folders[:] = [name for name in folders if not name.startswith(("_", "."))]
        for name in names:
            if not name.endswith(".parquet") or name.startswith("."):
                continue
            if count >= MOST_FILES:
                return count, size, False
            try:
                seen = os.stat(os.path.join(parent, name))  # noqa: PTH116, PTH118  # a hundred thousand of them
            except FileNotFoundError:
                continue  # a vacuum at the same moment
            if stat.S_ISREG(seen.st_mode):
                count, size = count + 1, size + seen.st_size
    return count, size, True
