"""The books of one batch at the desk: what became of its records, for each partition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from penstock.rows import Mask, Rows, Verdict
from penstock.tally import Fates, Tally
from penstock.worker.stretches import Stretches


class Books:
    """The fates of the partitions that a batch holds rows of."""

    def __init__(self, rows: Rows, tally: Tally) -> None:
        self.rows = rows
        self.stretches = Stretches(rows.source)
        self.fates = [tally.of(*part) for part in self.stretches.parts]
        self.good = self.stretches.shares(rows.firsts(rows.good))
        """Records of each partition that every sink is offered."""

    def open(self) -> None:
        """Count the records that came, and those of them that are out before any sink."""
        rows, stretches = self.rows, self.stretches
        seen = stretches.shares(rows.firsts())
        spans = stretches.spans(rows.source["offset"].to_numpy(zero_copy_only=False))
        for fates, count, span in zip(self.fates, seen, spans, strict=True):
            fates.seen += count
            fates.cover(*span)
        for fates, verdict in self._by_verdict(rows.verdicts):
            kind = fates.dropped if verdict.drop else fates.stopped if verdict.stop else fates.rejected
            kind[verdict.code] += 1

    def enter(self, sink: str, written: Mask, refused: list[Verdict]) -> None:
        """Count what one sink wrote, what it could not take, and, as not routed to it, the rest of what was good."""
        rows, shares = self.rows, self.stretches.shares
        whole, made = shares(rows.firsts(written)), shares(np.flatnonzero(written))
        away = shares(np.sort([verdict.row for verdict in refused]))
        for number, fates in enumerate(self.fates):
            fates.written[sink] += whole[number]
            fates.rows[sink] += made[number]
            fates.not_routed[sink] += self.good[number] - whole[number] - away[number]
        for fates, verdict in self._by_verdict(refused):
            fates.refused.setdefault(sink, Counter())[verdict.code] += 1

    def _by_verdict(self, verdicts: Sequence[Verdict]) -> Iterator[tuple[Fates, Verdict]]:
        """Each verdict with the fates of its partition."""
        numbers = self.stretches.holding([verdict.row for verdict in verdicts])
        return ((self.fates[number], verdict) for number, verdict in zip(numbers, verdicts, strict=True))
