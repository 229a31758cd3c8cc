"""A sample: values with the places they came from, and what kinds of values they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.authoring.recognise import EMPTY, OBJECT, TOMBSTONE, Kind, recognise


class Taken(NamedTuple):
    """One record of the sample."""

    place: str
    """`partition 2 offset 4411`, or `line 17`."""
    value: bytes | None


@dataclass(frozen=True)
class Sample:
    """Records, and how they were taken."""

    records: list[Taken]
    origin: str
    """`topic orders at localhost:9092`, `orders.jsonl`."""
    how: str
    """`the newest 1,000 of about 48,201 records in 4 partitions`."""
    remarks: tuple[str, ...] = ()
    """What kept the sample from being whole: time, size."""

    @property
    def size(self) -> int:
        return sum(len(record.value or b"") for record in self.records)


@dataclass(frozen=True)
class Holding:
    """One kind of value in the sample."""

    name: str
    count: int
    details: dict[str, int]
    places: list[str]
    """Of the first three."""


@dataclass(frozen=True)
class Content:
    """What a sample holds."""

    kinds: list[Kind]
    """Of each record."""
    holdings: list[Holding] = field(default_factory=list)
    """The most frequent first."""

    def count(self, name: str) -> int:
        return next((each.count for each in self.holdings if each.name == name), 0)

    @property
    def values(self) -> int:
        """Records that say something."""
        return len(self.kinds) - self.count(TOMBSTONE) - self.count(EMPTY)

    @property
    def main(self) -> Holding | None:
        """What most of the records that say something are."""
        return next((each for each in self.holdings if each.name not in (TOMBSTONE, EMPTY)), None)

    @property
    def is_json(self) -> bool:
        """Most of the records that say something are JSON objects."""
        return self.count(OBJECT) * 2 > self.values

    def as_data(self) -> list[dict[str, Any]]:
        return [vars(each) for each in self.holdings]


def content_of(sample: Sample) -> Content:
    """Look at every record."""
    kinds = [recognise(record.value) for record in sample.records]
    holdings = []
    for name, count in Counter(kind.name for kind in kinds).most_common():
        places = [record.place for record, kind in zip(sample.records, kinds, strict=True) if kind.name == name]
        details = Counter(kind.detail for kind in kinds if kind.name == name and kind.detail)
        holdings.append(Holding(name, count, dict(details.most_common(10)), places[:3]))
    return Content(kinds, holdings)
