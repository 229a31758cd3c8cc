"""Records that the source deleted before they were read: found exactly, and never passed over in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from penstock.errors import DataLost
from penstock.ranges import Positions, Range
from penstock.tally import Fates, Tally

Policy = Literal["stop", "skip", "accept"]
Earliest = Callable[[list[tuple[str, int]]], Positions]
"""Asks the broker for the first offset that each of these partitions still holds."""


class Losses:
    """What to do about lost records: `stop`, `skip` every loss, or `accept` those that are there at the start."""

    def __init__(self, pipeline: str, policy: Policy, earliest: Earliest, command: str) -> None:
        self.pipeline, self.policy, self.earliest, self.command = pipeline, policy, earliest, command
        self._accepted: Positions | None = None

    def at_start(self, gaps: tuple[Range, ...]) -> None:
        """Before the first batch: `accept` agrees to the losses that are there now, and to no later ones."""
        if self.policy == "accept" and self._accepted is None:
            self._accepted = {(gap.topic, gap.partition): gap.end for gap in gaps}
        self._stop_at(gaps)

    def check(self, ranges: tuple[Range, ...]) -> None:
        """Before a batch: stop if records in its ranges are gone and nobody agreed to that."""
        self._stop_at(self._gaps(ranges))

    def _stop_at(self, gaps: tuple[Range, ...]) -> None:
        unwanted = tuple(gap for gap in gaps if not self._agreed(gap))
        if unwanted:
            raise lost(self.pipeline, unwanted, self.command)

    def found(self, ranges: tuple[Range, ...], tally: Tally) -> tuple[Range, ...]:
        """After the pass: the ranges that were indeed not read, because they were gone."""
        if self.policy == "stop":
            return ()
        return tuple(gap for gap in (_unread(gap, tally) for gap in self._gaps(ranges)) if len(gap) > 0)

    def _gaps(self, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
        return gaps_in(ranges, self.earliest([(part.topic, part.partition) for part in ranges]))

    def _agreed(self, gap: Range) -> bool:
        return self.policy == "skip" or gap.end <= (self._accepted or {}).get((gap.topic, gap.partition), -1)


def gaps_in(ranges: tuple[Range, ...], earliest: Positions) -> tuple[Range, ...]:
    """The parts of these ranges that lie before what the broker still holds."""
    return tuple(
        Range(part.topic, part.partition, part.start, min(part.end, earliest[part.topic, part.partition]))
        for part in ranges
        if len(part) > 0 and part.start < earliest.get((part.topic, part.partition), 0)
    )


def lost(pipeline: str, gaps: tuple[Range, ...], command: str) -> DataLost:
    """The error for these ranges, every one of them spelled out."""
    lines = [
        f"{pipeline}, source kafka: topic {gap.topic} partition {gap.partition} no longer holds offsets "
        f"{gap.start} to {gap.end - 1}; its earliest is now {gap.end} or later."
        for gap in gaps
    ]
    count = sum(map(len, gaps))
    return DataLost(
        "\n".join(lines),
        data=f"Up to {count} records were deleted before they were read. The pipeline stopped and committed nothing.",
        remedy=f"Restore them, or accept the loss once:  {command} --accept-loss",
    )


def _unread(gap: Range, tally: Tally) -> Range:
    first = tally.partitions.get((gap.topic, gap.partition), Fates()).first
    return gap if first is None else Range(gap.topic, gap.partition, gap.start, max(gap.start, min(gap.end, first)))
