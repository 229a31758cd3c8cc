"""The history of a pipeline in memory, for charts: what was appended since the last look is all that is read again.

Only figures of the pipeline as a whole are kept, as arrays: a month of them is some megabytes. Days that are over are
Parquet and are read once.
"""

from __future__ import annotations

import math
import time
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.observe import history

BATCHES = ("at", "rows", "seconds", "longest_seconds", "batches", "rejected")
LAGS = ("at", "rows", "lag_seconds", "arrival_per_second", "read_per_second")
OF_ONE_TOPIC = b'"kind":"lags"'
OF_ALL = b'"topic":""'
MOST_RUNS = 1000
CUT_SECONDS = 5.0
"""A last line without an end that is older than this was cut off; a younger one is just being written."""


def _columns(names: tuple[str, ...]) -> dict[str, array[float]]:
    return {name: array("d") for name in names}


@dataclass
class Day:
    """One day: figures in the order in which they were written."""

    batches: dict[str, array[float]] = field(default_factory=lambda: _columns(BATCHES))
    lags: dict[str, array[float]] = field(default_factory=lambda: _columns(LAGS))
    runs: list[dict[str, Any]] = field(default_factory=list)
    damaged: int = 0
    """Lines, or files of a day that is over, that could not be read."""
    read_to: int = 0
    """Bytes of the day's file that were read."""
    inode: int = 0
    cut: bool = False
    """Whether the file ends in the middle of a line."""

    def add(self, row: dict[str, Any]) -> None:
        kind = row.get("kind")
        if kind == "batches":
            _append(self.batches, {**row, "rejected": sum((row.get("rejected") or {}).values())})
        elif kind == "lags" and row.get("topic") == "":
            _append(self.lags, row)
        elif kind == "runs":
            self.runs = [*self.runs[-MOST_RUNS:], row]


def _append(columns: dict[str, array[float]], row: dict[str, Any]) -> None:
    for name, values in columns.items():
        value = row.get(name)
        values.append(math.nan if not isinstance(value, int | float) else float(value))


class Courses:
    """The past of one pipeline. For one thread at a time."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self._days: dict[str, Day] = {}

    def days(self, since: float | None = None, until: float | None = None) -> list[Day]:
        """The days between two times, brought up to date."""
        names = history.days(self.state, since, until)
        return [self._day(name) for name in names]

    def newest(self) -> float | None:
        """When anything was last written down."""
        for name in reversed(history.days(self.state)):
            day = self._day(name)
            ends = [values[-1] for values in (day.batches["at"], day.lags["at"]) if values]
            ends += [day.runs[-1]["at"]] if day.runs else []
            if ends:
                return float(max(ends))
        return None

    def _day(self, name: str) -> Day:
        path = history.folder_of(self.state) / f"{name}.jsonl"
        day = self._days.get(name)
        try:
            day = self._days[name] = _followed(path, day)
        except FileNotFoundError:  # a day that is over
            if day is None or day.read_to:  # its lines may have been folded since
                day = self._days[name] = self._folded(name)
        return day

    def _folded(self, name: str) -> Day:
        import pyarrow as pa

        day = Day()
        for kind in history.KINDS:
            try:
                for row in self._rows(name, kind):
                    day.add({**row, "kind": kind, "at": row["at"].timestamp()})
            except (pa.ArrowInvalid, OSError):
                day.damaged += 1
        return day

    def _rows(self, name: str, kind: history.Kind) -> list[dict[str, Any]]:
        import pyarrow.compute as pc

        table = history.of_day(self.state, name, kind)
        if kind == "lags":
            table = table.filter(pc.equal(table["topic"], ""))
        rows = table.to_pylist()
        return [{**row, "rejected": dict(row["rejected"] or ())} for row in rows] if kind == "batches" else rows


def _followed(path: Path, day: Day | None) -> Day:
    """The day with what was appended to its file since."""
    found = path.stat()
    if day is None or day.inode != found.st_ino or found.st_size < day.read_to:
        day = Day(inode=found.st_ino)
    lines, day.read_to, unended = history.appended(path, day.read_to)
    for line in lines:
        _take(day, line)
    day.cut = unended and time.time() - found.st_mtime > CUT_SECONDS
    return day


def _take(day: Day, line: bytes) -> None:
    if not line or (OF_ONE_TOPIC in line and OF_ALL not in line and line.endswith(b"}")):
        return  # of one topic: most lines are, and no chart shows them
    row = history.row_of(line)
    if row is None:
        day.damaged += 1
    else:
        day.add(row)


def within(columns: dict[str, array[float]], since: float, until: float) -> Iterator[dict[str, float]]:
    """The rows between two times."""
    at = columns["at"]
    for place in range(bisect_left(at, since), len(at)):
        if at[place] > until:
            return
        yield {name: values[place] for name, values in columns.items()}
