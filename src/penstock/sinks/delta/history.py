"""What the table's log tells of us and of others: our newest batch, and what was done to it since.

RESTORE does not take back the transaction ids, and an overwrite does not either: the watermark still says that a batch
is there when its rows are gone. Only the history knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.sinks.contract import Undone
from penstock.sinks.delta.log import LOG

CLOSED = 2**63 - 1
"""The version under which a generation is closed: no batch."""


@dataclass(frozen=True)
class Ours:
    """A commit of one of our batches."""

    version: int
    batch_id: int
    story: dict[str, Any]


def newest(table: str, app: str, version: int) -> Ours | None:
    """Our newest batch under this application id, looked for from this version backwards as far as the log goes."""
    for at in range(version, -1, -1):
        text = _text(table, at)
        if text is None:
            return None
        if app in text:
            actions = [json.loads(line) for line in text.splitlines() if line.strip()]
            batches = [action["txn"]["version"] for action in actions if action.get("txn", {}).get("appId") == app]
            if batches and batches[0] != CLOSED:
                return Ours(at, batches[0], _story(actions))
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
        text = _text(table, at)
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
    for action in _actions(text):
        if "commitInfo" in action:
            info = action["commitInfo"]
            return str(info.get("operation", "")), info.get("operationParameters") or {}
    return "", {}


def _actions(text: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in text.splitlines() if line.strip())


def _story(actions: list[dict[str, Any]]) -> dict[str, Any]:
    told = next((action["commitInfo"].get("userMetadata") for action in actions if "commitInfo" in action), None)
    try:
        story = json.loads(told or "{}")
    except ValueError:
        return {}
    return story if isinstance(story, dict) else {}


def _text(table: str, version: int) -> str | None:
    try:
        return Path(table, LOG, f"{version:020d}.json").read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
