"""The deep audit: every offset of every range has one fate, found in the rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.operate.audit.counts import Counts, Stretch
from penstock.operate.audit.expected import Expected, expected
from penstock.operate.audit.findings import MOST_EXAMPLES


@dataclass
class Seen:
    """What was counted in one stretch: rows of the sink, and dead letters that concern it."""

    sink: Counts
    dead: Counts
    """Dead letters of records that this sink did not get."""


@dataclass
class Judgement:
    """What is wrong with one stretch of one sink, in records."""

    stretch: Stretch
    lost: int = 0
    lost_rows: int = 0
    doubled: int = 0
    unclear: bool = False
    """The ledger's counts of it cannot be believed, so only doubles were looked for."""
    missing: list[int] = field(default_factory=list)
    """First offsets that are nowhere."""
    certain: bool = True
    """Each of them is lost; else some of them were rightly left out, and which is not known."""
    twice: list[int] = field(default_factory=list)

    @property
    def bad(self) -> bool:
        return bool(self.lost or self.lost_rows or self.doubled or self.unclear)

    def named(self, offsets: list[int]) -> list[str]:
        topic, partition = self.stretch.place
        return [f"{topic}-{partition}-{offset}" for offset in offsets]


def judge(stretch: Stretch, seen: Seen, sink: str) -> Judgement | None:
    """One stretch of one sink; None where the sink had no part in it."""
    wanted = [expected(batch, stretch.place, sink) for batch in stretch.batches]
    if not any(batch.told and sink in batch.told.versions for batch in stretch.batches):
        return None
    known = [each for each in wanted if each is not None]
    if len(known) < len(wanted):
        return _twice_only(stretch, seen)
    return _one(stretch, seen, known[0]) if len(known) == 1 else _several(stretch, seen, known)


def _one(stretch: Stretch, seen: Seen, want: Expected) -> Judgement:
    there, dead = seen.sink > 0, seen.dead > 0
    found, both = int(np.count_nonzero(there & ~dead)), int(np.count_nonzero(there & dead))
    rows = int(seen.sink.sum(dtype=np.int64))
    plain = want.rows == want.written
    again = int(np.count_nonzero(seen.sink > 1)) if plain else max(0, rows - want.rows)
    lost, extra = max(0, want.written - found), max(0, found - want.written)
    partly = max(0, want.rows - rows) if not plain and not lost else 0
    return Judgement(
        stretch,
        lost=lost or min(partly, want.written),
        lost_rows=max(0, want.rows - rows),
        doubled=again + both + extra if plain else max(again, both + extra),
        missing=first_of(stretch, ~there & ~dead) if lost else [],
        certain=want.absent == 0,
        twice=first_of(stretch, (there & dead) | (seen.sink > (1 if plain else seen.sink.max(initial=1) - 1)))
        if again or both
        else [],
    )


def _several(stretch: Stretch, seen: Seen, wanted: list[Expected]) -> Judgement:
    """Several batches read the same offsets: each record should still be there once.

    A topic that was deleted and created again has other records under the same offsets, which are there as well.
    """
    there, dead = seen.sink > 0, seen.dead > 0
    nowhere = ~there & ~dead
    lives = len({want.incarnation for want in wanted})
    plain = all(want.rows == want.written for want in wanted)
    if lives == len(wanted):  # nothing was read twice: the counts of all of them must be found
        rows, want = int(seen.sink.sum(dtype=np.int64)), sum(each.rows for each in wanted)
        lost, doubled, twice = max(0, want - rows), max(0, rows - want), seen.sink > lives
    else:
        lost = max(0, int(np.count_nonzero(nowhere)) - sum(want.absent for want in wanted))
        twice = seen.sink > lives if plain else (seen.sink > lives) & _overlap(stretch)
        doubled = int(np.count_nonzero(twice))
    return Judgement(
        stretch,
        lost=lost,
        lost_rows=lost,
        doubled=doubled,
        missing=first_of(stretch, nowhere) if lost else [],
        certain=lives == 1 and all(want.absent == 0 for want in wanted),
        twice=first_of(stretch, twice) if doubled else [],
    )


def _overlap(stretch: Stretch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """The offsets that more than one batch read."""
    times = np.zeros(len(stretch), np.uint32)
    for batch in stretch.batches:
        for part in batch.ranges:
            if (part.topic, part.partition) == stretch.place:
                times[part.start - stretch.start : part.end - stretch.start] += 1
    return times > 1


def _twice_only(stretch: Stretch, seen: Seen) -> Judgement:
    both = (seen.sink > 0) & (seen.dead > 0)
    return Judgement(stretch, doubled=int(np.count_nonzero(both)), unclear=True, twice=first_of(stretch, both))


def first_of(stretch: Stretch, mask: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> list[int]:
    return [int(offset) + stretch.start for offset in np.flatnonzero(mask)[:MOST_EXAMPLES]]
