"""Checkpoints of a table's log: which there are, and what an append needs of one.

A checkpoint holds every file of the table. An append needs none of them: only the columns `protocol`, `metaData` and
`txn` are read, which are almost empty however many files there are.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock.sinks.delta.folder import Folder

COLUMNS = ("protocol", "metaData", "txn")
CHOICE = 3
"""How many checkpoints are tried, the newest first, before the log is given up."""
_COMMIT = re.compile(r"(\d{20})\.json")
_WHOLE = re.compile(r"(\d{20})\.checkpoint\.parquet")
_PART = re.compile(r"(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet")


class Unreadable(ValueError):
    """The log cannot be read in this way; somebody else may be able to."""


@dataclass(frozen=True)
class Snapshot:
    """A complete checkpoint: one file, or several parts."""

    version: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class Listing:
    """What lies in a log, by version."""

    commits: frozenset[int]
    """Versions that have a commit, as far back as `snapshots` go."""
    snapshots: tuple[Snapshot, ...]
    """Complete checkpoints, the newest first. Those of the kind V2 are not among them: their tables are Spark's."""

    @property
    def newest(self) -> int:
        return max((*self.commits, *(one.version for one in self.snapshots)), default=-1)

    def reaches(self, version: int) -> bool:
        """Is every commit after this version there?"""
        return all(number in self.commits for number in range(version + 1, self.newest + 1))


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def listing(names: Iterable[str], choice: int | None = CHOICE) -> Listing:
    """Of a log that may hold millions of commits, what is needed to begin: the newest checkpoints, what came after."""
    commits = array("q")
    found: dict[int, tuple[str, ...]] = {}
    parts: dict[tuple[int, int], dict[int, str]] = {}
    for name in names:
        if match := _COMMIT.fullmatch(name):
            commits.append(int(match[1]))
        elif match := _WHOLE.fullmatch(name):
            found[int(match[1])] = (name,)
        elif match := _PART.fullmatch(name):
            parts.setdefault((int(match[1]), int(match[3])), {})[int(match[2])] = name
    for (version, count), numbered in parts.items():
        if len(numbered) == count:
            found.setdefault(version, tuple(name for _, name in sorted(numbered.items())))
    snapshots = tuple(Snapshot(version, found[version]) for version in sorted(found, reverse=True)[:choice])
    oldest = snapshots[-1].version if len(snapshots) == choice else -1
    return Listing(frozenset(version for version in commits if version > oldest), snapshots)


def actions(folder: Folder, snapshot: Snapshot) -> list[dict[str, Any]]:
    """The `protocol`, the `metaData` and every `txn` of a checkpoint, as a commit would have them."""
    return [action for name in snapshot.names for action in _of_file(folder, name)]


def _of_file(folder: Folder, name: str) -> Iterator[dict[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with folder.open(name) as file:
            parquet = pq.ParquetFile(file)
            here = [column for column in COLUMNS if column in parquet.schema_arrow.names]
            for group in parquet.iter_batches(columns=here):
                for column in here:
                    for value in group[column].drop_null().to_pylist():
                        yield {column: _plain(value)}
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"checkpoint {name}: {error}") from error


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """As JSON would have it: maps are not lists of pairs."""
    pairs = value.get("configuration")
    return value if pairs is None else {**value, "configuration": dict(pairs)}
