"""Plan: what stays the same from batch to batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from penstock.ledger.ledger import Ledger
from penstock.observe.events import Emit
from penstock.origin import Origin
from penstock.pipeline import Pipeline
from penstock.ranges import Positions
from penstock.sinks.contract import Committer, TopicsCommitter, Watermarked
from penstock.sources.losses import Losses
from penstock.steps.flow import Flow


class Outlets(Protocol):
    """All that publishing a frozen batch needs."""

    tables: dict[str, Committer]
    topics: list[TopicsCommitter]


@dataclass
class Plan:
    """A pipeline made ready to run: its ledger, its tables, its policy for losses, and who listens."""

    pipeline: Pipeline
    ledger: Ledger
    losses: Losses
    tables: dict[str, Committer]
    """Every table in the order of the commits: dead letters first."""
    fingerprint: str
    flow: Flow
    """Everything between source and sinks."""
    emit: Emit
    topics: list[TopicsCommitter] = field(default_factory=list)
    """The Kafka clusters that the pipeline writes to: one transaction each."""
    start: Positions | None = None
    """Where the first batch starts, if not where the pipeline file says."""
    origin: Callable[[Iterable[str]], Origin] = lambda _topics: Origin()
    """Asks the source which topics these names are now."""
    known_unknown: set[str] = field(default_factory=set)
    """Unknown fields that were reported already."""

    @property
    def sinks(self) -> list[str]:
        """The sinks of the pipeline, in the order of the file."""
        return list(self.pipeline.sinks)

    def committers(self) -> list[Watermarked]:
        """Everything that holds a watermark, in the order of a batch's commits."""
        return [*self.tables.values(), *self.topics]
