"""How batches went lately: from the history of a pipeline of ours, or from the logs of any checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock import files
from penstock.ledger import sparklog
from penstock.ledger.sparklog import Damaged
from penstock.operate.foreign import Foreign
from penstock.ranges import Positions

LATELY_SECONDS = 3600.0
"""So much of the past counts, back from the newest batch that is known."""
ENOUGH_ROWS = 3
"""Of so many rows of the history one may be left out."""


@dataclass(frozen=True)
class Course:
    """Batches of a stretch of time, added up."""

    batches: int = 0
    since: float = 0.0
    """When the first of them began."""
    until: float = 0.0
    """When the last of them was committed."""
    seconds: float = 0.0
    longest_seconds: float = 0.0
    rows: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds of a batch by phase, on average; without the longest, which may be the first of a run."""
    sink_seconds: Mapping[str, float] = field(default_factory=dict)
    """The same of the commit to each sink."""
    phased_seconds: float = 0.0
    """How long those batches took, on average."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    bytes: int = 0
    read_limit: int | None = None

    @property
    def busy(self) -> float:
        """The share of the time in which a batch was in hand."""
        return min(1.0, self.seconds / (self.until - self.since)) if self.until > self.since else 0.0

    @property
    def batch_seconds(self) -> float:
        return self.seconds / self.batches if self.batches else 0.0

    @property
    def batch_rows(self) -> float:
        return self.rows / self.batches if self.batches else 0.0

    @property
    def between_seconds(self) -> float:
        """From one commit to the next."""
        return (self.until - self.since) / self.batches if self.batches else 0.0

    @property
    def per_second(self) -> float | None:
        """Rows that are read each second, pauses included."""
        return self.rows / (self.until - self.since) if self.until > self.since else None

    def share(self, *phases: str) -> float:
        """What part of the batches' time these phases took."""
        whole = self.phased_seconds
        return sum(self.phases.get(name, 0.0) for name in phases) / whole if whole else 0.0


def of_history(rows: Sequence[Mapping[str, Any]]) -> Course | None:
    """From rows of `history.batches`, oldest first."""
    newest = max((_seconds(row) for row in rows), default=0.0)
    late = [row for row in rows if _seconds(row) > newest - LATELY_SECONDS]
    if not late:
        return None
    usual = without_the_longest(late)
    count = sum(row["batches"] for row in usual)
    return Course(
        batches=sum(row["batches"] for row in late),
        since=min(_seconds(row) - row["seconds"] for row in late),
        until=newest,
        seconds=sum(row["seconds"] for row in late),
        longest_seconds=max(row["longest_seconds"] for row in late),
        rows=sum(row["rows"] for row in late),
        phases=_shared(_added(row["phases"] for row in usual), count),
        sink_seconds=_shared(_added(row["sink_seconds"] for row in usual), count),
        phased_seconds=sum(row["seconds"] for row in usual) / count,
        rejected=_added(row["rejected"] for row in late),
        files=sum(row["files"] for row in late),
        bytes=sum(row["bytes"] for row in late),
        read_limit=late[-1]["read_limit"],
    )


def without_the_longest(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Where there are some: the first batch of a run loads everything, and says nothing of where time goes later."""
    by_length = sorted(rows, key=lambda row: row["longest_seconds"])
    return by_length[:-1] if len(rows) >= ENOUGH_ROWS else by_length


def _shared(sums: Mapping[str, float], count: int) -> dict[str, float]:
    return {name: value / count for name, value in sums.items()}


def of_checkpoint(found: Foreign) -> Course | None:
    """From the offsets and the times of the files: how many rows each batch had, how long it took."""
    newest = found.last_commit_at
    if newest is None:
        return None
    late = [each for each in found.batches if each.committed_at > newest - LATELY_SECONDS and each.seconds is not None]
    ends = {each.batch_id: _positions(found, each.batch_id) for each in late}
    counted = [each for each in late[1:] if ends.get(each.batch_id) and ends.get(each.batch_id - 1)]
    if not counted:
        return None
    first = counted[0]
    return Course(
        batches=len(counted),
        since=first.committed_at - (first.seconds or 0.0),
        until=newest,
        seconds=sum(each.seconds or 0.0 for each in counted),
        longest_seconds=max(each.seconds or 0.0 for each in counted),
        rows=sum(_between(ends[each.batch_id - 1], ends[each.batch_id]) for each in counted),
    )


def _positions(found: Foreign, batch_id: int) -> Positions:
    from pathlib import Path

    body = files.read(Path(found.path) / "offsets" / str(batch_id))
    try:
        return sparklog.planned(batch_id, body or b"").positions
    except Damaged:
        return {}


def _between(before: Positions, after: Positions) -> int:
    return sum(max(0, at - before.get(part, at)) for part, at in after.items())


def _seconds(row: Mapping[str, Any]) -> float:
    return float(row["at"].timestamp())


def _added(maps: Iterable[Any]) -> dict[str, Any]:
    total: Counter[str] = Counter()
    for each in maps:
        total.update(dict(each or ()))
    return dict(total)
