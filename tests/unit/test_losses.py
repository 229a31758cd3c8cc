"""Lost records: what is agreed to, and what stops."""

from __future__ import annotations

import pytest

from penstock.errors import DataLost
from penstock.ranges import Range
from penstock.sources.losses import Losses, gaps_in
from penstock.tally import Fates, Tally

RANGES = (Range("t", 0, 10, 20), Range("t", 1, 0, 5))


def test_a_gap_is_the_part_of_a_range_before_what_the_broker_holds() -> None:
    assert gaps_in(RANGES, {("t", 0): 14, ("t", 1): 0}) == (Range("t", 0, 10, 14),)
    assert gaps_in(RANGES, {("t", 0): 99, ("t", 1): 0}) == (Range("t", 0, 10, 20),)
    assert gaps_in(RANGES, {("t", 0): 10, ("t", 1): 0}) == ()


def test_stopping_names_every_range_and_the_command() -> None:
    losses = Losses("p", "stop", lambda _parts: {("t", 0): 14, ("t", 1): 3}, "penstock run p.yaml")
    with pytest.raises(DataLost) as stopped:
        losses.check(RANGES)
    assert "topic t partition 0 no longer holds offsets 10 to 13" in str(stopped.value)
    assert "topic t partition 1 no longer holds offsets 0 to 2" in str(stopped.value)
    assert "Up to 7 records" in str(stopped.value)
    assert str(stopped.value).endswith("penstock run p.yaml --accept-loss")


def test_accepting_is_for_what_is_lost_at_the_start_and_once() -> None:
    earliest = {("t", 0): 14, ("t", 1): 0}
    losses = Losses("p", "accept", lambda _parts: dict(earliest), "penstock run p.yaml")
    losses.at_start(gaps_in(RANGES, earliest))
    losses.check(RANGES)
    earliest["t", 0] = 16
    with pytest.raises(DataLost):
        losses.check(RANGES)
    with pytest.raises(DataLost):
        losses.at_start(gaps_in(RANGES, earliest))


def test_a_skipped_range_ends_where_reading_began() -> None:
    losses = Losses("p", "skip", lambda _parts: {("t", 0): 18, ("t", 1): 0}, "penstock run p.yaml")
    tally = Tally({("t", 0): Fates(seen=6, first=14, last=19)})
    assert losses.found(RANGES, tally) == (Range("t", 0, 10, 14),), "14 to 17 were read before they were deleted"
