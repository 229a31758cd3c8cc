"""A table's log seen with the ledger in hand: which commits are which batches of ours, and what came after them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.operate.audit.aftermath import Aftermath
from penstock.operate.audit.books import Batch, Key
from penstock.operate.audit.history import Commit
from penstock.operate.audit.scope import Scope
from penstock.operate.audit.snapshot import Snapshot
from penstock.sinks.contract import CLOSED


class TableLog:
    """One sink's table."""

    def __init__(self, sink: str, snapshot: Snapshot, scope: Scope) -> None:
        self.sink, self.snapshot, self.scope = sink, snapshot, scope
        self.history = snapshot.history
        self.aftermath = Aftermath(self.history, dict(self._apps()))
        self.by_key: dict[Key, list[Commit]] = {}
        for commit in self.history.commits:
            key = self.aftermath.key_of(commit)
            if key is not None and not (key[1] == CLOSED and not commit.adds):
                self.by_key.setdefault(key, []).append(commit)
        self._effective = {commit.version for commit in self.history.effective}

    def counts(self, commit: Commit) -> bool:
        """Is the commit part of what the table is now? A RESTORE may have undone it."""
        return commit.version in self._effective

    def reaches(self, batch: Batch) -> bool:
        """Does the log still reach back to where the commit of this batch stood?"""
        version = batch.told.versions.get(self.sink) if batch.told else None
        return version is None or version >= self.history.first

    def told(self) -> Iterator[Batch]:
        """The batches that the commits tell of, each as its commit has it."""
        for key, commits in self.by_key.items():
            for commit in filter(self.counts, commits):
                found = self.scope.books.from_story(key, commit.story)
                if found is not None:
                    yield found

    @property
    def look(self) -> str:
        """How a person sees the log."""
        return f"Look at it:  DESCRIBE HISTORY delta.`{self.snapshot.table}`"

    @property
    def last_undone(self) -> int:
        """The newest version that a RESTORE undid."""
        undone = (commit.version for commit in self.history.commits if not self.counts(commit))
        return max(undone, default=self.history.last)

    def _apps(self) -> Iterator[tuple[str, int]]:
        """Application ids of this pipeline and sink -> generation; also those that the ledger has forgotten."""
        name, sink = re.escape(self.scope.books.pipeline), re.escape(self.sink)
        ours = re.compile(rf"{name}\.g(\d+)\.{sink}")
        for app in {app for commit in self.history.commits for app in commit.keys}:
            match = ours.fullmatch(app)
            if match:
                yield app, int(match[1])
