"""A hot partition: one that holds so much of a batch that its task works while the other slots wait."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.ranges import Range

LONG_SECONDS = 5.0
"""Of shorter batches nobody complains."""
TIMES = 2.0
"""So many times the rows of the next largest partition."""


def hot(ranges: Sequence[Range], slots: int, seconds: float) -> Range | None:
    """The hot partition of this batch, if splitting it would have helped: there were slots with nothing to do."""
    if slots < 2 or seconds < LONG_SECONDS or not ranges:
        return None
    first, second = sorted(ranges, key=len, reverse=True)[:2] if len(ranges) > 1 else (ranges[0], None)
    rest = sum(map(len, ranges)) - len(first)
    beside = 0 if second is None else len(second)
    idle = rest < len(first) * (slots - 1) / TIMES
    return first if idle and len(first) > TIMES * beside else None


def advice(part: Range, ranges: Sequence[Range], slots: int, seconds: float) -> str:
    """What to do about it, with the number to write."""
    every = sum(map(len, ranges))
    rows = max(1_000, -(-len(part) // (2 * slots)))
    return (
        f"{part.topic}-{part.partition} held {len(part):,} of the {every:,} rows of a batch that took {seconds:.0f} s: "
        f"one task read it while other slots waited. Split it:  source.kafka.task_rows: {rows}"
    )
