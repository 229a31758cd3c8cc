"""The deep audit of dead letters: each rejected record has one letter, and one more for each sink that refused it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from penstock.operate.audit.books import Batch
from penstock.operate.audit.counts import Counts, Stretch
from penstock.operate.audit.rows import Judgement, first_of
from penstock.operate.audit.told import Fate, Place


def judge_letters(stretch: Stretch, found: Mapping[str, Counts], name: str) -> Judgement | None:
    """One stretch. `found` has the letters by sink, `""` for those of records that no sink got."""
    takes = [batch for batch in stretch.batches if batch.told and name in batch.told.versions]
    if not takes:
        return None
    judgement = Judgement(stretch, certain=False, unclear=not all(batch.sound for batch in stretch.batches))
    wanted = _wanted(takes, stretch.place)
    empty: Counts = np.zeros(len(stretch), np.uint32)
    for whom in sorted({*wanted, *found}):
        counts = found.get(whom, empty)
        there, again = int(np.count_nonzero(counts)), int(np.count_nonzero(counts > 1))
        judgement.doubled += again
        judgement.twice += first_of(stretch, counts > 1) if again else []
        if not judgement.unclear and len(takes) == 1:
            judgement.lost += max(0, wanted[whom] - there)
            judgement.doubled += max(0, there - wanted[whom])
    judgement.lost_rows = judgement.lost
    return judgement


def _wanted(batches: list[Batch], place: Place) -> Counter[str]:
    """How many letters there should be, by sink."""
    wanted: Counter[str] = Counter()
    for batch in batches:
        fate = batch.told.fate(place) if batch.told else Fate()
        wanted[""] += fate.rejected
        for sink, share in fate.shares:
            wanted[sink] += share.refused
    return wanted
