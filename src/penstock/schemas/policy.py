"""The policy for changes of schemas: what becomes of each kind. The running pipeline and `schema check` ask here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.schemas.contract import Change
from penstock.schemas.options import SchemaChanges

Action = Literal["read", "park", "stop"]
SHOWN = 3
"""Changes that a sentence tells of."""


@dataclass(frozen=True)
class Judgement:
    """What becomes of the records of a schema."""

    action: Action
    """`read` into the columns, `park` in the dead letters, `stop` the pipeline."""
    changes: tuple[Change, ...] = ()
    taken: tuple[Change, ...] = ()
    """Those that the columns are to take."""
    because: tuple[Change, ...] = ()
    """Those that decided, where the records are not read."""

    @property
    def ignored(self) -> tuple[Change, ...]:
        """Those that the columns are not to take, though the records are read."""
        return tuple(change for change in self.changes if change not in self.taken)

    @property
    def words(self) -> str:
        """Why the records are not read, in one sentence."""
        told = "; ".join(spoken(change) for change in self.because[:SHOWN])
        more = f"; and {len(self.because) - SHOWN} more" if len(self.because) > SHOWN else ""
        return f"{told}{more}. schema_changes says {self.action}."


def judge(changes: Sequence[Change], policy: SchemaChanges) -> Judgement:
    """What the policy says to these changes: the gravest word counts."""
    said = {change: getattr(policy, change.kind) for change in changes}
    for action in ("stop", "park"):
        because = tuple(change for change in changes if said[change] == action)
        if because:
            return Judgement(action, tuple(changes), (), because)
    return Judgement("read", tuple(changes), tuple(change for change in changes if said[change] == "evolve"))


def spoken(change: Change) -> str:
    """The change as a person says it."""
    place = change.path or "the schema"
    match change.kind:
        case "add":
            return f"{place} is new ({change.after})"
        case "drop":
            return f"{place} is gone (it was {change.before})"
        case "rename":
            return f"{place} is called {change.after} now"
        case "widen":
            return f"{place} becomes wider: {change.before} to {change.after}"
    was = f" ({change.before})" if change.before else ""
    return f"{place}{was} does not fit: {change.after}"
