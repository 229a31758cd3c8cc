"""What became of our files after they were committed: moved by OPTIMIZE, deleted or changed by the owner, or gone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from penstock.operate.audit.books import Key
from penstock.operate.audit.history import Added, Commit, History

Origins = frozenset[Key]
"""Batches whose rows a file may hold; `(0, version)` stands for a commit of another writer."""


class Held(NamedTuple):
    """What a file holds: how many rows, and of which batches they are."""

    rows: int | None
    origins: Origins


@dataclass(frozen=True)
class Change:
    """A commit of somebody else that took rows of ours away, or may have changed them."""

    commit: Commit
    removed: int | None
    """Rows in the files that it removed; None where the log does not say."""
    added: int | None
    origins: Origins
    """The batches whose rows were in these files."""

    @property
    def touches_us(self) -> bool:
        return any(generation for generation, _ in self.origins)

    @property
    def gone(self) -> int | None:
        """Rows that it took away; None if that cannot be known."""
        if self.removed is None or self.added is None:
            return None
        return max(0, self.removed - self.added)

    @property
    def budget(self) -> int | None:
        """At most so many of our rows it can have taken or altered."""
        return self.gone if self.commit.operation == "DELETE" else self.removed


class Aftermath:
    """The commits that count, walked from the oldest to the newest."""

    def __init__(self, history: History, apps: Mapping[str, int]) -> None:
        self.apps = apps
        self.changes: list[Change] = []
        self.appends: list[Commit] = []
        """Rows that somebody else added."""
        self.uneven: list[Change] = []
        """Commits that say to move rows only, and do not hold as many rows as they took."""
        self.held: dict[str, Held] = {}
        for commit in history.effective:
            if commit.operation != "RESTORE":  # what it went back to is what was walked already
                self._take(commit)

    def touching(self, key: Key) -> list[Change]:
        """The changes that may have taken rows of this batch."""
        return [change for change in self.changes if key in change.origins]

    def holds(self, commit: Commit) -> bool:
        """May rows of this foreign commit still be in the table, in its own files or in others?"""
        return any((0, commit.version) in held.origins for held in self.held.values())

    def key_of(self, commit: Commit) -> Key | None:
        """The batch that this commit says it is."""
        return next(((self.apps[app], batch) for app, batch in commit.keys.items() if app in self.apps), None)

    def _take(self, commit: Commit) -> None:
        taken = [self.held.pop(path, Held(None, frozenset())) for path in commit.removes]
        key = self.key_of(commit)
        if not commit.removes:
            self._put(commit.adds, frozenset([key or (0, commit.version)]))
            if commit.adds and key is None:
                self.appends.append(commit)
            return
        origins = frozenset[Key]().union(*(held.origins for held in taken))
        change = Change(commit, _sum(held.rows for held in taken), commit.rows, origins)
        if commit.changes_data:
            self.changes.append(change)
        elif change.removed != change.added and change.removed is not None and change.added is not None:
            self.uneven.append(change)
        self._put(commit.adds, origins)

    def _put(self, adds: Iterable[Added], origins: Origins) -> None:
        self.held |= {add.path: Held(add.rows, origins) for add in adds}


def _sum(counts: Iterable[int | None]) -> int | None:
    known = list(counts)
    return None if None in known else sum(count or 0 for count in known)
