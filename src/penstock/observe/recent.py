"""The newest part of a history, read as it grows: what came since the last look, and never the whole day again."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

from penstock.observe.history import KINDS, Kind, appended, folder_of, of_day, row_of

MOST_BYTES = 256 * 1024
"""Of a day that is looked at for the first time, so much of its end."""
MOST_ROWS = 400
"""Rows of each kind that are kept."""
FEW_ROWS = 120
"""A day that has fewer is young, and the one before it is looked at too: a bar does not begin anew at midnight."""

Row = dict[str, Any]


class Recent:
    """The last rows of one pipeline's history. `state` is `Pipeline.workplace`."""

    def __init__(self, state: Path) -> None:
        self.folder = folder_of(state)
        self._rows: dict[str, deque[Row]] = {}
        self._path: Path | None = None
        self._read = 0
        self._begun = False

    def rows(self, kind: str, since: float = 0.0) -> list[Row]:
        """Rows of this kind (`batches`, `lags`, `runs`), oldest first. Costs a look at the folder if nothing came."""
        self._look()
        return [row for row in self._rows.get(kind, ()) if row["at"] >= since]

    def _look(self) -> None:
        newest = max(self.folder.glob("????-??-??.jsonl"), default=None)
        if newest is None:
            return
        size = _size(newest)
        if newest != self._path or size < self._read:
            self._path, self._read = newest, max(0, size - MOST_BYTES)
        if size > self._read:
            self._take(newest)
        if not self._begun:
            self._begun = True
            self._before(newest)

    def _before(self, newest: Path) -> None:
        """The end of the day before this one, in front of what is there."""
        days = sorted({path.name[:10] for path in self.folder.glob("????-??-??.*")} - {newest.name[:10]})
        if not days or len(self._rows.get("batches", ())) >= FEW_ROWS:
            return
        for kind in KINDS:
            there = self._rows.setdefault(kind, deque(maxlen=MOST_ROWS))
            there.extendleft(reversed(_last_rows(self.folder.parent, days[-1], kind)[-(MOST_ROWS - len(there)) :]))

    def _take(self, path: Path) -> None:
        """Whole lines only: one that is being written is read the next time."""
        try:
            lines, self._read, _ = appended(path, self._read)
        except FileNotFoundError:  # the day is over, and was folded
            return
        for row in filter(None, map(row_of, lines)):  # none: cut off by a crash, or by beginning in the middle of it
            self._rows.setdefault(str(row.get("kind")), deque(maxlen=MOST_ROWS)).append(row)


def _last_rows(state: Path, day: str, kind: Kind) -> list[Row]:
    """The newest rows of a day, as its lines have them; none where the day cannot be read: it is over."""
    try:
        found = of_day(state, day, kind)
    except (OSError, ValueError):  # damaged
        return []
    rows = found.slice(max(0, found.num_rows - MOST_ROWS)).to_pylist(maps_as_pydicts="strict")
    return [{"kind": kind, **row, "at": row["at"].timestamp()} for row in rows]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
