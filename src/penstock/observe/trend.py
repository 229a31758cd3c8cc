"""Growth told from a spike, and both from the saw of a healthy pipeline.

Between two commits the lag of a healthy pipeline rises by what comes meanwhile, and falls back. So it grows only if its
lowest points rise by more than that; and it is a spike if most of what came lately came in one or two polls.
"""

from __future__ import annotations

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
KEPT = 720
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
        return trend(self._window(), self.between_commits())

    def between_commits(self) -> float:
        """Seconds from one commit to the next, as a rule; a guess, before there were three of them."""
        moved = [after.at for before, after in pairwise(self.looks) if after.position != before.position]
        gaps = [after - before for before, after in pairwise(moved)]
        return median(gaps) if len(gaps) > 1 else UNKNOWN_SECONDS

    def _window(self) -> Sequence[Look]:
        """The last looks: at least so many, and at least so long that several batches fit in."""
        if len(self.looks) <= LEAST:
            return self.looks
        since = self.looks[-1].at - 4 * self.between_commits()
        return [look for place, look in enumerate(self.looks) if look.at >= since or place >= len(self.looks) - LEAST]


def trend(looks: Sequence[Look], between_commits: float, floor: int = FLOOR) -> Trend:
    """What the course of these looks is called."""
    if len(looks) < 2 or looks[-1].rows <= floor:
        return "steady"
    if _burst(looks, floor):
        return "spike"
    if len(looks) < LEAST:
        return "steady"
    low = [min(look.rows for look in third) for third in _thirds(looks)]
    a_second = (looks[-1].end - looks[0].end) / (looks[-1].at - looks[0].at)
    step = a_second * between_commits + floor
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
