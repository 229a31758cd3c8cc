"""Where a partition's end and its reader were, now and then: enough to tell when a record came, and how fast."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

MOST = 96
"""Samples kept of one partition. When there are more, the older half is thinned out: the past is kept coarsely."""


class Sample(NamedTuple):
    at: float
    end: int
    position: int


class Samples:
    """The past of one partition, oldest first."""

    def __init__(self) -> None:
        self.kept: list[Sample] = []

    def add(self, at: float, end: int, position: int) -> None:
        """A topic that was made anew starts a new past: its offsets mean something else."""
        if self.kept and (end < self.kept[-1].end or at <= self.kept[-1].at):
            self.kept.clear()
        self.kept.append(Sample(at, end, position))
        if len(self.kept) > MOST:
            half = MOST // 2
            self.kept = self.kept[:half:2] + self.kept[half:]

    def arrived(self, offset: int) -> float | None:
        """About when this offset came; None where it was there before anybody watched, or is not there yet."""
        place = bisect_right(self.kept, offset, key=lambda sample: sample.end)
        if place == 0 or place == len(self.kept):
            return None
        before, after = self.kept[place - 1], self.kept[place]
        share = (offset - before.end) / (after.end - before.end)
        return before.at + share * (after.at - before.at)

    def arriving(self, window: float) -> float | None:
        """Offsets a second that came during the last so many seconds."""
        seen = self.since(window)
        return None if len(seen) < 2 else (seen[-1].end - seen[0].end) / (seen[-1].at - seen[0].at)

    def reading(self, window: float) -> float | None:
        """Offsets a second that were committed, counted from one commit to another: a batch is not cut in two.

        Where nothing was committed in this time, it is 0.
        """
        seen = self.since(window)
        if len(seen) < 2:
            return None
        moves = [place for place in range(1, len(seen)) if seen[place].position != seen[place - 1].position]
        if len(moves) < 2:
            return max(0.0, (seen[-1].position - seen[0].position) / (seen[-1].at - seen[0].at))
        first, last = seen[moves[0]], seen[moves[-1]]
        still = seen[-1].at - last.at
        spent = last.at - first.at
        if still > 3 * spent / (len(moves) - 1):  # it has stopped: that counts
            spent += still
        return max(0.0, (last.position - first.position) / spent)

    def since(self, window: float) -> list[Sample]:
        """The samples of the last so many seconds, and the one before them."""
        if not self.kept:
            return []
        place = bisect_right(self.kept, self.kept[-1].at - window, key=lambda sample: sample.at)
        return self.kept[max(0, place - 1) :]
