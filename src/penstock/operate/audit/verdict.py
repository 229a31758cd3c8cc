"""The verdict: what an audit came to, as a value that prints as JSON in the names that other tools rely on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.operate.audit.findings import Finding, sorted_by_weight
from penstock.ranges import Range

Word = Literal["exact", "lost", "doubled", "unproven"]
EXIT_CODES: dict[Word, int] = {"exact": 0, "lost": 1, "doubled": 1, "unproven": 3}


@dataclass
class PartitionAccount:
    """One partition of the source, for one sink."""

    topic: str
    partition: int
    start: int
    end: int
    read: int = 0
    written: int = 0
    lost: int = 0
    doubled: int = 0
    examples: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


@dataclass
class Account:
    """One sink: what it was given and what it has. The unit is the source record."""

    name: str
    read: int = 0
    written: int = 0
    rejected: int = 0
    dropped: int = 0
    not_routed: int = 0
    lost: int = 0
    doubled: int = 0
    deleted_by_owner: int = 0
    foreign: int = 0
    """Rows of other writers."""
    holes: list[Range] = field(default_factory=list)
    overlaps: list[Range] = field(default_factory=list)
    partitions: dict[tuple[str, int], PartitionAccount] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            **{key: value for key, value in self.__dict__.items() if isinstance(value, int)},
            "holes": [part.to_json() for part in self.holes],
            "overlaps": [part.to_json() for part in self.overlaps],
            "partitions": [part.to_json() for _, part in sorted(self.partitions.items())],
        }


@dataclass(frozen=True)
class Verdict:
    """What an audit came to."""

    pipeline: str
    deep: bool
    read: int
    written: int
    """Records that are in at least one sink."""
    rejected: int
    dropped: int
    lost: int
    doubled: int
    deleted_by_owner: int
    sinks: dict[str, Account]
    letters: dict[str, Account]
    findings: tuple[Finding, ...]
    generations: int = 0
    batches: int = 0
    in_flight: tuple[str, ...] = ()
    """Batches that were begun and not finished: not judged."""

    @property
    def verdict(self) -> Word:
        kinds = {finding.kind for finding in self.findings}
        words: tuple[Word, ...] = ("lost", "doubled", "unproven")
        return next((word for word in words if word in kinds), "exact")

    @property
    def exact(self) -> bool:
        return self.verdict == "exact"

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict]

    def of(self, kind: str) -> list[Finding]:
        return [finding for finding in sorted_by_weight(self.findings) if finding.kind == kind]

    def to_json(self) -> dict[str, Any]:
        counts = ("read", "written", "rejected", "dropped", "lost", "doubled", "deleted_by_owner")
        return {
            "pipeline": self.pipeline,
            "verdict": self.verdict,
            "deep": self.deep,
            **{name: getattr(self, name) for name in counts},
            "generations": self.generations,
            "batches": self.batches,
            "in_flight": list(self.in_flight),
            "sinks": {name: account.to_json() for name, account in self.sinks.items()},
            "dead_letters": {name: account.to_json() for name, account in self.letters.items()},
            "findings": [finding.to_json() for finding in sorted_by_weight(self.findings)],
        }
