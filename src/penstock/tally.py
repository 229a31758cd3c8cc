"""Tally: what became of the records of a batch, per source partition. Counted in the tasks, closed in the driver."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

MOST_UNKNOWN = 100
"""Names of unknown fields that are kept; a stream of random names must not fill the ledger."""


@dataclass
class Fates:
    """What became of the records of one topic partition. The unit is the source record."""

    seen: int = 0
    first: int | None = None
    """Lowest offset that was seen."""
    last: int | None = None
    rejected: Counter[str] = field(default_factory=Counter)
    """By code, before any sink."""
    dropped: Counter[str] = field(default_factory=Counter)
    """By name, on the pipeline's wish."""
    written: Counter[str] = field(default_factory=Counter)
    """By sink."""
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    """By sink and code: records that one sink alone could not take."""

    def add(self, other: Fates) -> None:
        self.seen += other.seen
        self.cover(other.first, other.last)
        self.rejected += other.rejected
        self.dropped += other.dropped
        self.written += other.written
        for sink, codes in other.refused.items():
            self.refused.setdefault(sink, Counter()).update(codes)

    def cover(self, first: int | None, last: int | None) -> None:
        """Widen the span of offsets that were seen."""
        if first is not None and last is not None:
            self.first = first if self.first is None else min(self.first, first)
            self.last = last if self.last is None else max(self.last, last)

    def accounted(self, sink: str) -> int:
        """Records with a known fate, as far as this sink is concerned."""
        refused = sum(self.refused.get(sink, Counter()).values())
        return sum(self.rejected.values()) + sum(self.dropped.values()) + self.written[sink] + refused

    def by_code(self) -> dict[str, int]:
        """Dead letters by code, those of single sinks included."""
        return dict(sum(self.refused.values(), self.rejected.copy()))

    def to_json(self) -> dict[str, Any]:
        return {
            "seen": self.seen,
            "first": self.first,
            "last": self.last,
            "rejected": dict(self.rejected),
            "dropped": dict(self.dropped),
            "written": dict(self.written),
            "refused": {sink: dict(codes) for sink, codes in self.refused.items()},
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Fates:
        return cls(
            seen=body["seen"],
            first=body["first"],
            last=body["last"],
            rejected=Counter(body["rejected"]),
            dropped=Counter(body["dropped"]),
            written=Counter(body["written"]),
            refused={sink: Counter(codes) for sink, codes in body["refused"].items()},
        )


@dataclass
class Tally:
    """The fates of a batch's records by topic and partition, and the unknown fields that were seen."""

    partitions: dict[tuple[str, int], Fates] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)

    def of(self, topic: str, partition: int) -> Fates:
        return self.partitions.setdefault((topic, partition), Fates())

    def add(self, other: Tally) -> None:
        for (topic, partition), fates in other.partitions.items():
            self.of(topic, partition).add(fates)
        self.note_unknown(other.unknown)

    def note_unknown(self, fields: dict[str, int]) -> None:
        for name, count in fields.items():
            if name in self.unknown or len(self.unknown) < MOST_UNKNOWN:
                self.unknown[name] += count

    def total(self) -> Fates:
        whole = Fates()
        for fates in self.partitions.values():
            whole.add(fates)
        return whole

    def to_json(self) -> dict[str, Any]:
        partitions = [
            {"topic": topic, "partition": partition, **fates.to_json()}
            for (topic, partition), fates in sorted(self.partitions.items())
        ]
        return {"partitions": partitions, "unknown": dict(self.unknown)}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Tally:
        partitions = {(part["topic"], part["partition"]): Fates.from_json(part) for part in body["partitions"]}
        return cls(partitions, Counter(body["unknown"]))
