"""A partition that stands still while records wait in it: in real time Spark says nothing of it."""

from __future__ import annotations

from penstock.ranges import Positions


class Starved:
    """Compares two looks: where reading stood, and how much waited."""

    def __init__(self) -> None:
        self._ends: Positions = {}
        self._waits: dict[tuple[str, int], int] = {}
        self._told: set[tuple[str, int]] = set()

    def look(self, ends: Positions, latest: Positions) -> list[tuple[str, int]]:
        """The partitions that were not read at all since the last look, though more waits now. Each is told once."""
        waits = {part: max(0, offset - ends.get(part, 0)) for part, offset in latest.items()}
        still = {
            part
            for part, rows in waits.items()
            if part in self._ends and ends.get(part) == self._ends[part] and rows > self._waits.get(part, 0)
        }
        news = sorted(still - self._told)
        self._told = still
        self._ends, self._waits = dict(ends), waits
        return news
