"""What the table's log tells of us and of others: our newest batch, and what was done to it since.

RESTORE does not take back the transaction ids, and an overwrite does not either: the watermark still says that a batch
is there when its rows are gone. Only the history knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from penstock.sinks.contract import CLOSED, Undone
from penstock.sinks.delta.log import beside_files, body_of, story_in


class Ours(NamedTuple):
    """A commit of one of our batches."""

    version: int
    batch_id: int
    story: dict[str, Any]


class Deed(NamedTuple):
    """A commit that replaced what was in the table."""

    version: int
    operation: str
    parameters: dict[str, Any]


class Past:
    """The newest batch of every application, and what replaced the table's content.

    It is told of new commits, and looks back as far as it is asked to: no commit is read twice.
    """

    def __init__(self, table: str, version: int) -> None:
        self.table = table
        self._first = version + 1
        """Every commit from this version on is known."""
        self._batches: dict[str, tuple[int, int]] = {}
        self._deeds: list[Deed] = []
        self._ended = False

    def add(self, version: int, actions: Iterable[dict[str, Any]]) -> None:
        """Take note of the commit that follows the newest one known."""
        for action in actions:
            for app, batch_id in _batch(action):
                self._batches[app] = version, batch_id
            self._deeds += _deed(version, action)

    def newest(self, app: str) -> Ours | None:
        """Our newest batch under this application id, as far back as the log goes."""
        found = self._find(app)
        body = None if found is None else body_of(self.table, found[0])
        if found is None or body is None:
            return None
        return Ours(*found, story_in(beside_files(body)))

    def begin(self, app: str) -> int:
        """The newest version that can hold a batch of this application."""
        return self._batches[app][0] if app in self._batches else self._first - 1

    def undone(self, app: str) -> list[Undone]:
        """What took our rows away after our newest batch, as the content of the table stands now."""
        found = self._find(app)
        return [] if found is None else _undone(found[0], [deed for deed in self._deeds if deed.version > found[0]])

    def _find(self, app: str) -> tuple[int, int] | None:
        while app not in self._batches and not self._ended:
            self._look_back()
        return self._batches.get(app)

    def _look_back(self) -> None:
        body = body_of(self.table, self._first - 1) if self._first else None
        if body is None:
            self._ended = True
            return
        self._first -= 1
        for action in beside_files(body):
            for app, batch_id in _batch(action):
                self._batches.setdefault(app, (self._first, batch_id))
            self._deeds[:0] = _deed(self._first, action)


def newest(table: str, app: str, version: int) -> Ours | None:
    """Our newest batch under this application id, looked for from this version backwards as far as the log goes."""
    return Past(table, version).newest(app)


def undone(table: str, app: str, version: int) -> list[Undone]:
    """What took our rows away after our newest batch, as the content of the table stands at this version."""
    return Past(table, version).undone(app)


def _undone(ours: int, deeds: Sequence[Deed]) -> list[Undone]:
    """A DELETE, an UPDATE, a MERGE and an overwrite with a predicate are the owner's, and say themselves what they
    touch. A RESTORE to a version that has our newest batch brings back what was undone before it.
    """
    became: list[tuple[int, Undone | None]] = [(ours, None)]
    for deed in deeds:
        became.append((deed.version, _after(deed, ours, became)))
    last = became[-1][1]
    return [] if last is None else [last]


def _after(deed: Deed, ours: int, became: Sequence[tuple[int, Undone | None]]) -> Undone | None:
    at = deed.version
    if deed.operation != "RESTORE":
        return Undone(deed.operation, f"version {at} replaced its content ({deed.operation.lower()})")
    to = str(deed.parameters.get("version"))
    if to.isdecimal() and int(to) >= ours:
        return next(state for version, state in reversed(became) if version <= int(to))
    where = f"version {to}" if to.isdecimal() else f"the time {deed.parameters.get('timestamp')}"
    return Undone("RESTORE", f"version {at} restored it to {where}, and our newest batch is in version {ours}")


def _batch(action: dict[str, Any]) -> list[tuple[str, int]]:
    """The application and its batch, if the action sets one. The commit that closes a generation is no batch."""
    txn = action.get("txn")
    return [(txn["appId"], txn["version"])] if txn and txn["version"] != CLOSED else []


def _deed(version: int, action: dict[str, Any]) -> list[Deed]:
    info = action.get("commitInfo") or {}
    name, parameters = str(info.get("operation", "")), info.get("operationParameters") or {}
    return [Deed(version, name, parameters)] if name == "RESTORE" or _replaces(name, parameters) else []


def _replaces(name: str, parameters: dict[str, Any]) -> bool:
    if "REPLACE" in name:
        return True
    predicate = str(parameters.get("predicate") or "").strip("[] ")
    return name == "WRITE" and str(parameters.get("mode")).lower() == "overwrite" and not predicate
