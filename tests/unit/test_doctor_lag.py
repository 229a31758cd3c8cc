"""Why a pipeline is behind, and whose batches are too frequent."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.doctor_kit import first

from penstock import Delta, Sink
from penstock.observe.tracker import Measure, Tracker
from penstock.testing.ward import Ward
from penstock.unread import Probe

SLOW: dict[str, Any] = {
    "seconds": 9.5,
    "phases": {"intent": 0.05, "pass": 1.5, "freeze": 0.05, "tables": 7.8, "outcome": 0.1},
}


def test_much_that_came_at_once_is_a_burst_and_no_lack_of_cores(ward: Ward) -> None:
    ward.ran(60, every=10.0)
    tracker, at = Tracker(), time.time() - 120
    for number in range(12):
        came = 100 * number + (500_000 if number > 9 else 0)
        lag = tracker.see(Measure(at + 10 * number, {("t", 0): 100 * number}, {("t", 0): came + 100}))
    with ward.held():
        ward.tells(lag=lag, read_limit=10_000)
        found = first(ward.report())
    assert (found.code, "much came at once" in found.cause) == ("burst", True)


def test_records_that_wait_while_no_batch_begins_are_told(ward: Ward) -> None:
    ward.ran(10, every=10.0)
    old = {("t", 0): Probe(3, first=3, timestamp=time.time() - 7200, counted=5, upto=8)}
    lag = Tracker().see(Measure(time.time(), {("t", 0): 3}, {("t", 0): 90}, probes=old))
    with ward.held():
        ward.tells(lag=lag)
        found = first(ward.report())
    assert (found.code, "no batch begins: 87 rows wait for 2.0 h" in found.cause) == ("stuck_batch", True)


BEHIND: dict[str, dict[str, Any]] = {
    "slow_sink": SLOW,
    "slow_state": {
        "seconds": 9.5,
        "phases": {"intent": 1.2, "pass": 5.0, "freeze": 1.4, "tables": 0.3, "outcome": 1.5},
    },
    "under_provisioned": {"seconds": 9.7},
    "max_rows": {"seconds": 4.0, "read": 1000, "read_limit": 1000},
}


@pytest.mark.parametrize("code", BEHIND)
def test_why_a_pipeline_falls_behind_is_told_by_where_its_time_goes(tmp_path: Path, code: str) -> None:
    ward = Ward(tmp_path, {"pace": {"max_rows": 1000}} if code == "max_rows" else {})
    ward.ran(60, every=10.0, **BEHIND[code])
    lag = ward.fell_behind()
    ward.tells(lag=lag, ended="done")
    found = first(ward.report())
    assert found.code == code
    assert any("rows wait" in line for line in found.evidence), found
    assert found.mend


def test_a_pipeline_that_falls_behind_for_no_reason_that_is_known_is_told_all_the_same(ward: Ward) -> None:
    ward.ran(60, every=10.0, seconds=5.0)
    ward.tells(lag=ward.fell_behind(), ended="done")
    found = first(ward.report())
    assert (found.code, "p falls behind: " in found.cause) == ("behind", True), found
    assert "50% of the time" in found.evidence[0]


def test_a_lag_that_was_worked_off_since_is_no_longer_a_cause(ward: Ward) -> None:
    ward.ran(60, every=10.0, seconds=9.7)
    ward.fell_behind()
    ward.tells(ended="done")
    assert ward.codes() == []


def test_more_slots_are_proposed_where_cores_are_idle(tmp_path: Path) -> None:
    ward = Ward(tmp_path, {"spark": {"spark.master": "local[1,4]"}})
    ward.ran(60, every=10.0, seconds=9.7)
    ward.tells(lag=ward.fell_behind(), ended="done")
    cores = os.cpu_count() or 1
    told = first(ward.report()).mend[0]
    assert (f"local[{cores},4]" in told) if cores > 1 else ("more cores" in told)


def test_of_several_tables_the_slow_one_is_named_and_a_batch_that_stands_out_hides_nothing(tmp_path: Path) -> None:
    tables = {name: Sink(to=Delta(table=str(tmp_path / "lake" / name))) for name in ("lake", "big")}
    ward = Ward(tmp_path, {"sinks": tables})
    times = {"lake": {"rows": 5, "version": 1, "seconds": 0.2}, "big": {"rows": 5, "version": 1, "seconds": 7.6}}
    ward.ran(1, every=10.0, ends=300.0, seconds=600.0, sinks=times)
    ward.ran(20, every=10.0, sinks=times, **SLOW)
    ward.tells(lag=ward.fell_behind(), ended="done")
    found = first(ward.report())
    assert (found.code, "the commit to the table of sink big takes 7.8 s of a batch's 9.5 s" in found.cause) == (
        "slow_sink",
        True,
    ), found
    assert "the commit of a batch to each sink: big 7.6 s, lake 0.2 s" in found.evidence


def test_batches_of_few_rows_one_after_another_are_too_frequent(ward: Ward) -> None:
    ward.ran(100, every=1.0, seconds=0.8, read=20)
    assert ward.codes() == ["too_frequent"]
    assert "trigger: {every: 30 seconds}" in first(ward.report()).mend[0]


def test_for_latency_short_batches_are_what_was_asked_for(tmp_path: Path) -> None:
    ward = Ward(tmp_path, {"profile": "latency"})
    ward.ran(100, every=1.0, seconds=0.8, read=20)
    assert ward.codes() == []
