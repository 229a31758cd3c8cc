"""The newest part of a history, read as it grows: what came since the last look, and never the whole day again."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

from penstock.observe.history import appended, folder_of, row_of

MOST_BYTES = 256 * 1024
"""Of a day that is looked at for the first time, so much of its end."""
MOST_ROWS = 400
"""Rows of each kind that are kept."""

Row = dict[str, Any]


class Recent:
    """The last rows of one pipeline's history. `state` is `Pipeline.workplace`."""

    def __init__(self, state: Path) -> None:
        self.folder = folder_of(state)
        self._rows: dict[str, deque[Row]] = {}
        self._path: Path | None = None
        self._read = 0

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

    def _take(self, path: Path) -> None:
        """Whole lines only: one that is being written is read the next time."""
        try:
            lines, self._read, _ = appended(path, self._read)
        except FileNotFoundError:  # the day is over, and was folded
            return
        for row in filter(None, map(row_of, lines)):  # none: cut off by a crash, or by beginning in the middle of it
            self._rows.setdefault(str(row.get("kind")), deque(maxlen=MOST_ROWS)).append(row)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
