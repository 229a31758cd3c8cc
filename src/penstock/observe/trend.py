"""Growth told from a spike, and both from the saw of a healthy pipeline.

Between two commits the lag of a healthy pipeline rises by what comes meanwhile, and falls back. So it grows only if its
lowest points rise by more than that; and it is a spike if most of what came lately came in one or two polls.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from penstock.observe.lag import Trend

FLOOR = 100
"""Rows that nobody need be told of."""
LEAST = 6
"""Looks before anything is said."""
BURST = 4.0
"""A poll brought a burst if it brought so many times what others do."""
KEPT = 360
WINDOWS = (6.0, 30.0, 120.0)
"""How many batches are looked back on."""
UNKNOWN_SECONDS = 60.0
"""From one commit to the next, where there were too few to tell."""


class Look(NamedTuple):
    at: float
    end: int
    """Sum of the ends."""
    position: int
    rows: int


class Course:
    """The course of a lag over time, over all partitions of a topic."""

    def __init__(self) -> None:
        self.looks: list[Look] = []

    def add(self, look: Look) -> None:
        if self.looks and (look.at <= self.looks[-1].at or look.end < self.looks[-1].end):
            self.looks.clear()
        self.looks.append(look)
        del self.looks[:-KEPT]

    def trend(self) -> Trend:
        """What the course is called: by its last batches, and by more of them, so that slow growth shows too."""
        batch = self.between_commits()
        told = trend(self._last(WINDOWS[0] * batch), batch)
        if told in ("steady", "growing") and any(trend(self._last(n * batch), batch) == "growing" for n in WINDOWS):
            return "growing"
        return told

    def between_commits(self) -> float:
        """Seconds from one commit to the next, as a rule.

        Before there were three of them nobody knows, and the guess is so long that nothing is called growth yet.
        """
        moved = [after.at for before, after in pairwise(self.looks) if after.position != before.position]
        gaps = [after - before for before, after in pairwise(moved)]
        watched = self.looks[-1].at - self.looks[0].at if self.looks else 0.0
        return median(gaps) if len(gaps) > 1 else max(UNKNOWN_SECONDS, watched / 2)

    def _last(self, seconds: float) -> Sequence[Look]:
        """The looks of the last so many seconds; some at least."""
        since = self.looks[-1].at - seconds
        place = bisect_left(self.looks, since, key=lambda look: look.at)
        return self.looks[min(place, max(0, len(self.looks) - LEAST)) :]


def trend(looks: Sequence[Look], between_commits: float, floor: int = FLOOR) -> Trend:
    """What the course of these looks is called.

    A healthy pipeline is behind by what comes during two batches at most: the one in hand, and the one that waits.
    """
    if len(looks) < 2 or looks[-1].rows <= floor:
        return "steady"
    if _burst(looks, floor):
        return "spike"
    if len(looks) < LEAST:
        return "steady"
    low = [min(look.rows for look in third) for third in _thirds(looks)]
    a_second = (looks[-1].end - looks[0].end) / (looks[-1].at - looks[0].at)
    step = 2 * a_second * between_commits + floor
    if low[0] <= low[1] <= low[2] and low[2] - low[0] > step:
        return "growing"
    return "falling" if low[0] >= low[1] >= low[2] and low[0] - low[2] > step else "steady"


def _burst(looks: Sequence[Look], floor: int) -> bool:
    """Did most of what came lately come in one or two polls, and is it still unread?"""
    came = [after.end - before.end for before, after in pairwise(looks)]
    if len(came) < 3:
        return False
    top = max(first + second for first, second in pairwise(came))
    rest = sorted(came)[:-2]
    usual = median(rest) if rest else 0
    return top > 2 * BURST * usual + floor and top > sum(came) / 2 and looks[-1].rows > max(floor, top / 5)


def _thirds(looks: Sequence[Look]) -> list[Sequence[Look]]:
    size = len(looks) // 3
    return [looks[:size], looks[size : 2 * size], looks[2 * size :]]
