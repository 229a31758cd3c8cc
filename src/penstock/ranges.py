"""Ranges: which offsets of which partitions a batch reads, and the digest that names them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

Positions = dict[tuple[str, int], int]
"""Topic and partition -> offset of the next record."""


@dataclass(frozen=True, order=True)
class Range:
    """Offsets `start` (included) to `end` (not included) of one partition."""

    topic: str
    partition: int
    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def ranges_between(start: Positions, end: Positions, first: Positions) -> tuple[Range, ...]:
    """The ranges of a batch that ends at `end`. A partition that `start` does not name is new: see `first`."""
    return tuple(
        Range(topic, partition, start.get((topic, partition), first.get((topic, partition), 0)), until)
        for (topic, partition), until in sorted(end.items())
    )


def digest_of(pipeline: str, generation: int, batch_id: int, ranges: Iterable[Range], ledger: str = "") -> str:
    """Names a batch by whose it is and what it reads: the same batch always has the same digest.

    `ledger` is the id of the generation's ledger, so that no sink takes a batch of another pipeline for ours.
    """
    body: list[Any] = [pipeline, generation, batch_id, [[r.topic, r.partition, r.start, r.end] for r in sorted(ranges)]]
    if ledger:
        body.append(ledger)
    return hashlib.sha256(json.dumps(body, separators=(",", ":")).encode()).hexdigest()


def positions_from_spark(text: str) -> Positions:
    """Spark's `{"topic": {"0": 17}}` as positions."""
    return {
        (topic, int(partition)): int(offset)
        for topic, partitions in json.loads(text).items()
        for partition, offset in partitions.items()
    }


def positions_to_spark(positions: Positions) -> str:
    """Positions as Spark writes them."""
    topics: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(positions.items()):
        topics.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(topics, separators=(",", ":"))
