"""Tally: what became of the records of a batch, per source partition. Counted in the tasks, closed in the driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MOST_UNKNOWN = 100
"""Names of unknown fields that are kept; a stream of random names must not fill the ledger."""

COUNTERS = ("rejected", "dropped", "stopped", "warned", "written", "rows", "not_routed")


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
    stopped: Counter[str] = field(default_factory=Counter)
    """By check: records at which the pipeline is to stop. Such a batch is never published."""
    warned: Counter[str] = field(default_factory=Counter)
    """By check: records that failed a rule that only warns. They have another fate beside. Counted in a total alone."""
    written: Counter[str] = field(default_factory=Counter)
    """By sink: records of which every row was written."""
    rows: Counter[str] = field(default_factory=Counter)
    """By sink: the rows that these records became. A step may make several of one record."""
    not_routed: Counter[str] = field(default_factory=Counter)
    """By sink: records that its `where` leaves out."""
    refused: dict[str, Counter[str]] = field(default_factory=dict)
    """By sink and code: records that one sink alone could not take."""

    def add(self, other: Fates) -> None:
        self.seen += other.seen
        self.cover(other.first, other.last)
        for name in COUNTERS:
            if more := getattr(other, name):
                getattr(self, name).update(more)
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
        before = sum(sum(fate.values()) for fate in (self.rejected, self.dropped, self.stopped))
        return before + self.written[sink] + self.not_routed[sink] + refused

    def by_code(self) -> dict[str, int]:
        """Dead letters by code, those of single sinks included."""
        return dict(sum(self.refused.values(), self.rejected.copy()))

    def to_json(self) -> dict[str, Any]:
        return {
            "seen": self.seen,
            "first": self.first,
            "last": self.last,
            **{name: dict(getattr(self, name)) for name in COUNTERS},
            "refused": {sink: dict(codes) for sink, codes in self.refused.items()},
        }

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Fates:
        return cls(
            seen=body["seen"],
            first=body["first"],
            last=body["last"],
            **{name: Counter(body[name]) for name in COUNTERS},
            refused={sink: Counter(codes) for sink, codes in body["refused"].items()},
        )


@dataclass
class Tally:
    """The fates of a batch's records by topic and partition, and the unknown fields that were seen."""

    partitions: dict[tuple[str, int], Fates] = field(default_factory=dict)
    unknown: Counter[str] = field(default_factory=Counter)
    large: int = 0
    """Large records: see steps/weighing.py."""
    warned: Counter[str] = field(default_factory=Counter)
    """By check: records that failed a rule that only warns, of all partitions."""

    def of(self, topic: str, partition: int) -> Fates:
        return self.partitions.setdefault((topic, partition), Fates())

    def add(self, other: Tally) -> None:
        for (topic, partition), fates in other.partitions.items():
            self.of(topic, partition).add(fates)
        self.note_unknown(other.unknown)
        self.large += other.large
        self.warned.update(other.warned)

    def note_unknown(self, fields: Mapping[str, int]) -> None:
        for name, count in fields.items():
            if name in self.unknown or len(self.unknown) < MOST_UNKNOWN:
                self.unknown[name] += count

    def total(self) -> Fates:
        whole = Fates(warned=self.warned.copy())
        for fates in self.partitions.values():
            whole.add(fates)
        return whole

    @staticmethod
    def total_in(body: dict[str, Any]) -> Fates:
        """What `total` gives, straight from the JSON form: for who reads many of them. It has no first and last."""
        whole = Fates(warned=Counter(body["warned"]))
        for part in body["partitions"]:
            whole.seen += part["seen"]
            for name in COUNTERS:
                if part[name]:
                    getattr(whole, name).update(part[name])
            for sink, codes in part["refused"].items():
                whole.refused.setdefault(sink, Counter()).update(codes)
        return whole

    def to_json(self) -> dict[str, Any]:
        partitions = [
            {"topic": topic, "partition": partition, **fates.to_json()}
            for (topic, partition), fates in sorted(self.partitions.items())
        ]
        told = {"unknown": dict(self.unknown), "large": self.large, "warned": dict(self.warned)}
        return {"partitions": partitions, **told}

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Tally:
        partitions = {(part["topic"], part["partition"]): Fates.from_json(part) for part in body["partitions"]}
        return cls(partitions, Counter(body["unknown"]), body["large"], Counter(body["warned"]))
