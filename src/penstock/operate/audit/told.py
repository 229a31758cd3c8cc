"""An outcome as the audit keeps it: the counts alone, small enough for the ledger of a year."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import NamedTuple

from penstock.ledger.records import Outcome
from penstock.ranges import Range
from penstock.sinks.kafka import names
from penstock.tally import Fates
from penstock.worker import desk

Place = tuple[str, int]
"""Topic and partition."""


class Share(NamedTuple):
    """What one sink got of one partition's records."""

    written: int = 0
    rows: int = 0
    not_routed: int = 0
    refused: int = 0


NOTHING = Share()


class Fate(NamedTuple):
    """What became of the records of one partition."""

    seen: int = 0
    rejected: int = 0
    """Before any sink."""
    dropped: int = 0
    shares: tuple[tuple[str, Share], ...] = ()

    def of(self, sink: str) -> Share:
        return next((share for name, share in self.shares if name == sink), NOTHING)

    @property
    def letters(self) -> int:
        """Dead letters: one for each rejected record, and one for each sink that refused one."""
        return self.rejected + sum(share.refused for _, share in self.shares)


class Told(NamedTuple):
    """What the ledger says that a batch came to."""

    committed_at: str
    places: dict[Place, Fate]
    versions: dict[str, int]
    """Sink -> the version of its table that holds the batch."""
    gaps: tuple[Range, ...]
    last_written: dict[str, int]
    targets: dict[str, str]

    def fate(self, place: Place) -> Fate:
        return self.places.get(place, Fate())

    def rows(self, sink: str) -> int:
        """Rows that the batch left in a sink."""
        if is_letters(sink):
            return sum(fate.letters for fate in self.places.values())
        return sum(fate.of(sink).rows for fate in self.places.values())

    def records(self, sink: str) -> int:
        """Records that these rows came from."""
        if is_letters(sink):
            return self.rows(sink)
        return sum(fate.of(sink).written for fate in self.places.values())

    @property
    def read(self) -> int:
        return sum(fate.seen for fate in self.places.values())


def is_letters(sink: str) -> bool:
    """Is it where rejected records go: their table, or their topic?"""
    return sink in (desk.DEAD_LETTERS, names.DEAD_LETTERS)


def told_by(outcome: Outcome) -> Told:
    sinks = [sink for sink in outcome.receipts if not is_letters(sink)]
    return Told(
        committed_at=outcome.committed_at,
        places={_place(*place): _fate(fates, sinks) for place, fates in outcome.tally.partitions.items()},
        versions={_text(sink): receipt.version for sink, receipt in outcome.receipts.items()},
        gaps=outcome.gaps,
        last_written=outcome.last_written,
        targets=outcome.targets,
    )


def _fate(fates: Fates, sinks: list[str]) -> Fate:
    shares = tuple((_text(sink), _share(fates, sink)) for sink in sinks)
    return Fate(fates.seen, sum(fates.rejected.values()), sum(fates.dropped.values()), shares)


def _share(fates: Fates, sink: str) -> Share:
    refused = sum(fates.refused.get(sink, Counter()).values())
    return Share(fates.written[sink], fates.rows[sink], fates.not_routed[sink], refused)


@cache
def _place(topic: str, partition: int) -> Place:
    """The same object for the same place: there are millions."""
    return topic, partition


@cache
def _text(name: str) -> str:
    return name
