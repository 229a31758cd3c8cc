"""How often each offset was found, in bounded memory: one counter an offset, one window of offsets at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from penstock.operate.audit.books import Batch
from penstock.operate.audit.lineage import Offsets
from penstock.operate.audit.told import Place
from penstock.ranges import Range

Counts: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint32]]"
WINDOW = 16_000_000
"""Offsets that are counted in one reading of the files: 64 MB for each sink and for the dead letters."""


@dataclass(frozen=True)
class Stretch:
    """Offsets of one partition that are judged together: of one batch, or of several that read the same."""

    place: Place
    start: int
    end: int
    batches: tuple[Batch, ...]

    def __len__(self) -> int:
        return self.end - self.start


def stretches(batches: Iterable[Batch]) -> list[Stretch]:
    """The ranges of all batches by partition, those together that overlap."""
    parts: dict[Place, list[tuple[Range, Batch]]] = {}
    for batch in batches:
        for part in batch.ranges:
            if len(part) > 0:
                parts.setdefault((part.topic, part.partition), []).append((part, batch))
    found: list[Stretch] = []
    for place, ranges in sorted(parts.items()):
        found += _joined(place, sorted(ranges, key=lambda each: (each[0].start, each[0].end, each[1].key)))
    return found


def _joined(place: Place, ranges: list[tuple[Range, Batch]]) -> Iterator[Stretch]:
    start, end, members = ranges[0][0].start, ranges[0][0].end, [ranges[0][1]]
    for part, batch in ranges[1:]:
        if part.start < end:
            end, members = max(end, part.end), [*members, batch]
        else:
            yield Stretch(place, start, end, tuple(members))
            start, end, members = part.start, part.end, [batch]
    yield Stretch(place, start, end, tuple(members))


def windows(found: list[Stretch], size: int) -> Iterator[list[Stretch]]:
    """The stretches in groups whose counters fit into memory together."""
    group: list[Stretch] = []
    held = 0
    for stretch in found:
        if group and held + len(stretch) > size:
            yield group
            group, held = [], 0
        group.append(stretch)
        held += len(stretch)
    if group:
        yield group


@dataclass
class Field:
    """Counters over the stretches of one window; side by side stretches share one array."""

    spans: dict[Place, list[tuple[int, Counts]]] = field(default_factory=dict)

    @classmethod
    def over(cls, window: list[Stretch]) -> Field:
        made = cls()
        ends: dict[Place, list[list[int]]] = {}
        for stretch in window:
            runs = ends.setdefault(stretch.place, [])
            if runs and runs[-1][1] == stretch.start:
                runs[-1][1] = stretch.end
            else:
                runs.append([stretch.start, stretch.end])
        for place, runs in ends.items():
            made.spans[place] = [(start, np.zeros(end - start, np.uint32)) for start, end in runs]
        return made

    def add(self, place: Place, offsets: Offsets) -> None:
        """Count these offsets, as far as they lie in the window."""
        for start, counts in self.spans.get(place, ()):
            inside = offsets[(offsets >= start) & (offsets < start + len(counts))]
            if len(inside):
                _count(counts, inside - start)

    def of(self, stretch: Stretch) -> Counts:
        """The counters of one stretch."""
        for start, counts in self.spans[stretch.place]:
            if start <= stretch.start < start + len(counts):
                return counts[stretch.start - start : stretch.end - start]
        raise KeyError(stretch)


def _count(counts: Counts, places: Offsets) -> None:
    low, high = int(places.min()), int(places.max())
    if high - low < 16 * len(places):  # as rows mostly lie: close together
        counts[low : high + 1] += np.bincount(places - low).astype(np.uint32)
    else:
        where, times = np.unique(places, return_counts=True)
        counts[where] += times.astype(np.uint32)


class Territory:
    """Every offset that any batch of the ledger means to have read, judged or not."""

    def __init__(self, batches: Iterable[Batch]) -> None:
        merged: dict[Place, list[list[int]]] = {}
        for stretch in stretches(batches):
            runs = merged.setdefault(stretch.place, [])
            if runs and runs[-1][1] == stretch.start:
                runs[-1][1] = stretch.end
            else:
                runs.append([stretch.start, stretch.end])
        self.runs = {place: np.array(runs, dtype=np.int64) for place, runs in merged.items()}

    def outside(self, place: Place, offsets: Offsets) -> Offsets:
        """Those of these offsets that no batch has read."""
        runs = self.runs.get(place)
        if runs is None:
            return offsets
        at = np.searchsorted(runs[:, 0], offsets, side="right") - 1
        inside = (at >= 0) & (offsets < runs[np.maximum(at, 0), 1])
        outside: Offsets = offsets[~inside]
        return outside
