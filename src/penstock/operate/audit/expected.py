"""What the ledger says should be found of a batch, for one partition and one sink."""

from __future__ import annotations

from typing import NamedTuple

from penstock.operate.audit.books import Batch
from penstock.operate.audit.told import Place


class Expected(NamedTuple):
    """Records and rows of one batch and partition in one sink."""

    written: int
    rows: int
    """That these records became."""
    absent: int
    """Offsets that are rightly nowhere: dropped, not routed, or no record at all."""
    incarnation: str
    """Of the topic."""


def expected(batch: Batch, place: Place, sink: str) -> Expected | None:
    """By the batch's outcome; None where that cannot be believed, or where the sink was not there yet."""
    if not batch.sound or batch.told is None or sink not in batch.told.versions:
        return None
    offsets = sum(len(part) for part in batch.ranges if (part.topic, part.partition) == place)
    fate = batch.told.fate(place)
    share = fate.of(sink)
    absent = fate.dropped + share.not_routed + offsets - fate.seen
    return Expected(share.written, share.rows, absent, batch.incarnation(place[0]))
