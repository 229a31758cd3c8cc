"""The parts of a run's state: the batch in hand, sums, what each sink got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.observe.events import BatchCommitted


@dataclass(frozen=True)
class InHand:
    """The batch that is being done."""

    id: int
    began: float
    offsets: int | None = None
    phase: str | None = None
    phase_began: float = 0.0


@dataclass(frozen=True)
class Wait:
    """Something is away."""

    cause: str
    since: float


@dataclass(frozen=True)
class Alarm:
    """An alert that is raised."""

    name: str
    text: str
    since: float


@dataclass(frozen=True)
class Note:
    """A happening worth a line."""

    at: float
    text: str


@dataclass(frozen=True)
class Sunk:
    """What a sink got in this run."""

    rows: int = 0
    version: int | None = None
    at: float | None = None
    """When it last got something."""

    def after(self, receipt: Mapping[str, Any], now: float) -> Sunk:
        """A batch without rows leaves a table as it is; a cluster's marker moves with every batch."""
        rows, version = int(receipt["rows"]), int(receipt["version"])
        moved = rows > 0 or self.version not in (None, version)
        return Sunk(self.rows + rows, version, now if moved else self.at)


@dataclass(frozen=True)
class Totals:
    """What became of the records of this run's committed batches."""

    batches: int = 0
    read: int = 0
    written: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    warned: Mapping[str, int] = field(default_factory=dict)

    def plus(self, event: BatchCommitted) -> Totals:
        return Totals(
            self.batches + 1,
            self.read + event.read,
            self.written + event.written,
            _sum(self.rejected, event.rejected),
            _sum(self.dropped, event.dropped),
            _sum(self.warned, event.warned),
        )


@dataclass(frozen=True)
class End:
    """How the run ended."""

    reason: str
    at: float


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}
