"""Plan: what stays the same from batch to batch."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.ledger.ledger import Ledger
from penstock.observe.events import Emit
from penstock.pipeline import Pipeline
from penstock.ranges import Positions
from penstock.sinks.contract import Committer
from penstock.sources.losses import Losses
from penstock.task import DEAD_LETTERS


@dataclass
class Plan:
    """A pipeline made ready to run: its ledger, its tables, its policy for losses, and who listens."""

    pipeline: Pipeline
    ledger: Ledger
    losses: Losses
    tables: dict[str, Committer]
    """Every table in the order of the commits: dead letters first."""
    fingerprint: str
    emit: Emit
    start: Positions | None = None
    """Where the first batch starts, if not where the pipeline file says."""
    known_unknown: set[str] = field(default_factory=set)
    """Unknown fields that were reported already."""

    @property
    def sinks(self) -> list[str]:
        return [name for name in self.tables if name != DEAD_LETTERS]
