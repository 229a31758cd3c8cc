"""Records that are rejected, parked, lost or wrongly dated."""

from __future__ import annotations

import time
from dataclasses import replace

from tests.unit.doctor_kit import first

from penstock.observe import gaps
from penstock.observe.gaps import Gap
from penstock.observe.tracker import Measure, Tracker
from penstock.testing.ward import Ward
from penstock.unread import Probe


def test_rejects_are_told_with_their_leading_code(ward: Ward) -> None:
    ward.ran(30, every=10.0, rejected={"invalid_json": 600, "check:positive": 20})
    found = first(ward.report())
    assert (found.code, found.cause[:50]) == ("reject_rate", "12% of the records are rejected, most of them as i")
    assert found.harm.word == "wrong"


def test_parked_records_come_before_the_rate_that_they_make(ward: Ward) -> None:
    ward.ran(30, every=10.0, rejected={"schema_parked": 900})
    assert ward.codes() == ["schema_parked", "reject_rate"]
    assert first(ward.report()).mend[1] == "penstock schema adopt p.yaml"


def test_a_gap_of_today_is_told_and_one_of_last_week_is_not(ward: Ward) -> None:
    old = Gap(time.time() - 8 * 86_400, "p", 1, 0, "t", 0, 3, 9)
    gaps.keep(ward.state, [old])
    assert ward.codes() == []
    gaps.keep(ward.state, [replace(old, at=time.time() - 60, batch_id=1)])
    assert ward.codes() == ["gap_accepted"]


def test_records_that_came_now_and_say_they_are_old_have_a_wrong_date(ward: Ward) -> None:
    tracker, part = Tracker(), ("t", 0)
    tracker.see(Measure(time.time() - 20, {part: 3}, {part: 3}))
    old = {part: Probe(3, first=3, timestamp=time.time() - 9000, counted=5, upto=8)}
    lag = tracker.see(Measure(time.time(), {part: 3}, {part: 8}, probes=old))
    with ward.held():
        ward.tells(lag=lag)
        found = first(ward.report())
    assert (found.code, "say that they are 2.5 h old" in found.cause) == ("time_skew", True)
    assert "message.timestamp.type=LogAppendTime" in found.mend[0]
