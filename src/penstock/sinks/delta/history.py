"""What the table's log tells of us and of others: our newest batch, and what was done to it since.

RESTORE does not take back the transaction ids, and an overwrite does not either: the watermark still says that a batch
is there when its rows are gone. Only the history knows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.sinks.contract import CLOSED, Undone
from penstock.sinks.delta.log import actions_in, batches_in, story_in, text_of


@dataclass(frozen=True)
class Ours:
    """A commit of one of our batches."""

    version: int
    batch_id: int
    story: dict[str, Any]


def newest(table: str, app: str, version: int) -> Ours | None:
    """Our newest batch under this application id, looked for from this version backwards as far as the log goes."""
    for at in range(version, -1, -1):
        text = text_of(table, at)
        if text is None:
            return None
        if app in text:
            actions = actions_in(text)
            batches = batches_in(actions, app)
            if batches and batches[0] != CLOSED:
                return Ours(at, batches[0], story_in(actions))
    return None


def undone(table: str, app: str, version: int) -> list[Undone]:
    """What took our rows away after our newest batch, as the content of the table stands at this version.

    A DELETE, an UPDATE, a MERGE and an overwrite with a predicate are the owner's, and say themselves what they
    touch. A RESTORE to a version that has our newest batch brings back what was undone before it.
    """
    ours = newest(table, app, version)
    if ours is None:
        return []
    found: dict[int, Undone | None] = {ours.version: None}
    for at in range(ours.version + 1, version + 1):
        text = text_of(table, at)
        name, parameters = _operation(text or "")
        before = found[at - 1]
        if name == "RESTORE":
            found[at] = _restored(at, parameters, ours.version, found)
        elif _replaces(name, parameters):
            found[at] = Undone(name, f"version {at} replaced its content ({name.lower()})")
        else:
            found[at] = before
    last = found[version]
    return [] if last is None else [last]


def _restored(at: int, parameters: dict[str, Any], ours: int, found: dict[int, Undone | None]) -> Undone | None:
    to = str(parameters.get("version"))
    if to.isdecimal() and int(to) >= ours:
        return found.get(int(to))
    where = f"version {to}" if to.isdecimal() else f"the time {parameters.get('timestamp')}"
    return Undone("RESTORE", f"version {at} restored it to {where}, and our newest batch is in version {ours}")


def _replaces(name: str, parameters: dict[str, Any]) -> bool:
    if "REPLACE" in name:
        return True
    predicate = str(parameters.get("predicate") or "").strip("[] ")
    return name == "WRITE" and str(parameters.get("mode")).lower() == "overwrite" and not predicate


def _operation(text: str) -> tuple[str, dict[str, Any]]:
    for action in actions_in(text):
        if "commitInfo" in action:
            info = action["commitInfo"]
            return str(info.get("operation", "")), info.get("operationParameters") or {}
    return "", {}
