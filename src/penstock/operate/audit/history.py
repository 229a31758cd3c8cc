"""A table's log as the audit reads it: every commit that is still there, ours and others'.

The log is read as plain JSON, version by version. A RESTORE turns the table back, so not every commit still counts:
`effective` is the line of commits that made the table what it is now.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from penstock.sinks.contract import told_in
from penstock.sinks.delta.log import LOG, actions_in

DECLARED = {"DELETE", "UPDATE", "MERGE", "TRUNCATE", "WRITE", "REPLACE", "CREATE OR REPLACE", "STREAMING UPDATE"}
"""Operations by which an owner says that rows are to go or to change."""


@dataclass(frozen=True)
class Added:
    """A file that a commit adds."""

    path: str
    """As the log writes it."""
    rows: int | None
    """Rows that it holds; None where the log does not say."""
    partition: str
    """The partition it belongs to, as one text."""
    span: tuple[int, int] | None
    """Lowest and highest offset in its lineage, where the log says so."""


@dataclass(frozen=True)
class Commit:
    """One version of the table."""

    version: int
    operation: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    timestamp: int = 0
    keys: Mapping[str, int] = field(default_factory=dict)
    """Application id -> batch id."""
    story: Mapping[str, Any] = field(default_factory=dict)
    adds: tuple[Added, ...] = ()
    removes: tuple[str, ...] = ()
    changes_data: bool = False
    """False where rows were only moved into other files, as OPTIMIZE does."""

    @property
    def rows(self) -> int | None:
        """Rows in the files that it adds; None where one of them does not say."""
        counts = [each.rows for each in self.adds]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def declared(self) -> bool:
        """Does it say by itself that rows are to go? A RESTORE does not, nor does a commit without a name."""
        return any(self.operation.startswith(word) for word in DECLARED)

    @property
    def named(self) -> str:
        return f"the {self.operation or 'nameless commit'} of version {self.version}"


class History:
    """The commits of a table from `first` to `last`."""

    def __init__(self, commits: list[Commit]) -> None:
        self.commits = commits
        self.first = commits[0].version if commits else 0
        self.last = commits[-1].version if commits else -1

    @property
    def whole(self) -> bool:
        """Does it reach back to the table's beginning?"""
        return self.first == 0

    @cached_property
    def effective(self) -> list[Commit]:
        """The commits that made the table what it is, in order: without those that a RESTORE undid."""
        line, at = [], self.last
        while at >= self.first:
            commit = self.commits[at - self.first]
            line.append(commit)
            at = self._restored(commit) if commit.operation == "RESTORE" else at - 1
        return line[::-1]

    def _restored(self, commit: Commit) -> int:
        """The version that a RESTORE went back to."""
        version, moment = commit.parameters.get("version"), _moment(commit.parameters)
        if version is not None and str(version).isdecimal():
            return min(int(version), commit.version - 1)
        before = [each.version for each in self.commits if each.version < commit.version and each.timestamp <= moment]
        return max(before, default=self.first - 1)


def read_history(table: str, first: int = 0) -> History:
    """The commits from version `first` on, as far as the log still has them without a gap up to the newest."""
    folder = Path(table) / LOG
    names = sorted(path.stem for path in folder.glob("*.json") if len(path.stem) == 20 and path.stem.isdecimal())
    versions = [int(name) for name in names if int(name) >= first]
    newest: list[int] = []
    for version in reversed(versions):
        if newest and newest[-1] != version + 1:
            break
        newest.append(version)
    return History([_commit(folder, version) for version in reversed(newest)])


def _commit(folder: Path, version: int) -> Commit:
    text = (folder / f"{version:020d}.json").read_text(encoding="utf-8")
    actions = actions_in(text)
    info: dict[str, Any] = next((action["commitInfo"] for action in actions if "commitInfo" in action), {})
    adds = [action["add"] for action in actions if "add" in action]
    removes = [action["remove"] for action in actions if "remove" in action]
    return Commit(
        version=version,
        operation=str(info.get("operation") or ""),
        parameters=info.get("operationParameters") or {},
        timestamp=int(info.get("timestamp") or 0),
        keys={action["txn"]["appId"]: action["txn"]["version"] for action in actions if "txn" in action},
        story=told_in(info.get("userMetadata")),
        adds=tuple(map(_added, adds)),
        removes=tuple(each["path"] for each in removes),
        changes_data=any(each.get("dataChange", True) for each in (*adds, *removes)),
    )


def _added(add: dict[str, Any]) -> Added:
    try:
        stats = json.loads(add.get("stats") or "{}")
    except ValueError:
        stats = {}
    rows = stats.get("numRecords")
    gone = (add.get("deletionVector") or {}).get("cardinality", 0)
    partition = json.dumps(add.get("partitionValues") or {}, sort_keys=True)
    return Added(add["path"], None if rows is None else rows - gone, partition, _span(stats))


def _span(stats: dict[str, Any]) -> tuple[int, int] | None:
    for path in (("_offset",), ("_source", "offset"), ("offset",)):
        ends = list(_ends(stats, path))
        if len(ends) == 2:
            return ends[0], ends[1]
    return None


def _ends(stats: dict[str, Any], path: tuple[str, ...]) -> Iterator[int]:
    for side in ("minValues", "maxValues"):
        value: Any = stats.get(side) or {}
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        if isinstance(value, int):
            yield value


def _moment(parameters: Mapping[str, Any]) -> int:
    """When a RESTORE by time went back to, in milliseconds."""
    given = parameters.get("timestamp") or parameters.get("datetime")
    try:
        text = str(given)
        return int(text) if text.isdecimal() else int(datetime.fromisoformat(text).timestamp() * 1000)
    except ValueError:
        return -1
