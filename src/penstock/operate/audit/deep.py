"""Counting rows: the files of every sink are read window by window, and each stretch of offsets is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from penstock.errors import Unavailable
from penstock.operate.audit.books import Batch
from penstock.operate.audit.counts import WINDOW, Counts, Field, Stretch, Territory, stretches, windows
from penstock.operate.audit.findings import MOST_EXAMPLES
from penstock.operate.audit.letters import judge_letters
from penstock.operate.audit.lineage import Piece
from penstock.operate.audit.rows import Judgement, Seen, judge
from penstock.operate.audit.told import Place


class RowReader(Protocol):
    """Streams the origin of every row of one sink: of a table's files, or of topics."""

    anonymous: int
    """Rows without lineage, as far as they were read."""

    def pieces(self, low: int, high: int, *, everything: bool) -> Iterator[Piece]: ...


@dataclass
class Strangers:
    """Rows of a sink that are not this pipeline's."""

    anonymous: int = 0
    outside: int = 0
    """Rows that name offsets which no batch has read."""
    examples: list[str] = field(default_factory=list)

    def note(self, place: Place, offsets: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
        self.outside += len(offsets)
        for offset in offsets[: MOST_EXAMPLES - len(self.examples)]:
            self.examples.append(f"{place[0]}-{place[1]}-{offset}")


@dataclass
class RowCount:
    """What the deep audit came to."""

    judgements: dict[str, list[Judgement]] = field(default_factory=dict)
    strangers: dict[str, Strangers] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    """Sinks that could not be read to the end, and why."""
    written: int = 0
    """Records that are in at least one sink."""


class Deep:
    """The counting of all sinks. `letters` are the dead letters, if they can be read."""

    window = WINDOW

    def __init__(
        self,
        judged: list[Batch],
        sinks: Mapping[str, RowReader],
        letters: Mapping[str, RowReader],
        known: Territory | None,
    ) -> None:
        """`known` is what any batch has read; without it, rows of others are not looked for."""
        self.judged, self.sinks, self.letters, self.known = judged, sinks, letters, known
        self.result = RowCount()

    def count(self) -> RowCount:
        first = self.known is not None
        for window in windows(stretches(self.judged), self.window):
            self._window(window, first=first)
            first = False
        return self.result

    def _window(self, window: list[Stretch], *, first: bool) -> None:
        low, high = min(each.start for each in window), max(each.end for each in window) - 1
        dead = Dead(window)
        for name, reader in self.letters.items():
            mine = Dead(window)
            for piece in self._read(name, reader, low, high, first=first):
                mine.add(piece)
                dead.add(piece)
            self._keep(name, (judge_letters(each, mine.of(each), name) for each in window))
        anywhere = Field.over(window)
        for name, reader in self.sinks.items():
            found = Field.over(window)
            for piece in self._read(name, reader, low, high, first=first):
                found.add((piece.topic, piece.partition), piece.offsets)
            self._keep(name, (judge(each, Seen(found.of(each), dead.against(each, name)), name) for each in window))
            for each in window:
                anywhere.of(each)[found.of(each) > 0] = 1
        self.result.written += sum(int(np.count_nonzero(anywhere.of(each))) for each in window)

    def _read(self, name: str, reader: RowReader, low: int, high: int, *, first: bool) -> Iterator[Piece]:
        """The rows of a sink; in the first reading, those that are not ours are noted."""
        strangers = self.result.strangers.setdefault(name, Strangers())
        try:
            for piece in reader.pieces(low, high, everything=first):
                if first and self.known:
                    place = piece.topic, piece.partition
                    strangers.note(place, self.known.outside(place, piece.offsets))
                yield piece
        except Unavailable as error:
            self.result.unread[name] = error.what
        if first:
            strangers.anonymous = reader.anonymous

    def _keep(self, name: str, judgements: Iterator[Judgement | None]) -> None:
        if name in self.result.unread:
            return
        self.result.judgements.setdefault(name, []).extend(each for each in judgements if each is not None and each.bad)


class Dead:
    """Dead letters by whom they concern: every sink, or one alone."""

    def __init__(self, window: list[Stretch]) -> None:
        self.window = window
        self.fields: dict[str, Field] = {}

    def add(self, piece: Piece) -> None:
        label = piece.label or ""
        whom = label.removeprefix("sink:") if label.startswith("sink:") else ""
        field_ = self.fields.setdefault(whom, Field.over(self.window)) if whom not in self.fields else self.fields[whom]
        field_.add((piece.topic, piece.partition), piece.offsets)

    def of(self, stretch: Stretch) -> dict[str, Counts]:
        """Sink -> counters; `""` for letters of records that no sink got."""
        return {whom: each.of(stretch) for whom, each in self.fields.items()}

    def against(self, stretch: Stretch, sink: str) -> Counts:
        """The letters of records that this sink did not get."""
        mine = [self.fields[whom].of(stretch) for whom in ("", sink) if whom in self.fields]
        return sum(mine[1:], mine[0]) if mine else np.zeros(len(stretch), np.uint32)
