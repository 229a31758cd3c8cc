"""Runs that failed, were killed, wait or hang, and states that the next run would be refused for: told first."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.doctor_kit import first

from penstock.observe.now import InHand
from penstock.testing.ward import Ward


def test_a_run_that_failed_is_told_with_its_error(ward: Ward) -> None:
    ward.tells(
        ended="failed", error="p: the batch failed in Spark: ValueError: no\n  Nothing is visible.\n  See the log."
    )
    found = first(ward.report())
    assert (found.code, "ValueError: no" in found.cause) == ("run_failed", True)
    assert "it said: Nothing is visible." in found.evidence
    assert "penstock run p.yaml" in found.mend[0]


def test_a_process_that_was_killed_in_a_batch_leaves_half_of_it_and_that_is_safe(ward: Ward) -> None:
    ward.past.batch(until="lake")
    ward.tells(in_hand=InHand(3, time.time(), "tables", time.time()))
    found = first(ward.report())
    assert found.code == "killed"
    assert "in the middle of batch 3" in found.cause
    assert "half of it is visible: lake has it already" in found.evidence
    assert found.mend[0].startswith("penstock run p.yaml")


def test_a_batch_that_was_begun_and_that_nobody_finishes_is_told_without_a_word_of_the_process(ward: Ward) -> None:
    ward.past.batch(until="freeze")
    found = first(ward.report())
    assert (found.code, found.evidence[0]) == (
        "killed",
        "batch 3 was begun and has no outcome; it is computed and frozen",
    )


def test_what_is_waited_for_is_the_cause(ward: Ward) -> None:
    with ward.held():
        ward.tells(waiting="sink lake: the disk is full.", waiting_since=time.time() - 60)
        found = first(ward.report())
    assert (found.code, found.cause) == ("waiting", "p waits: sink lake: the disk is full.")
    assert "for 1" in found.evidence[0]


def test_a_process_that_holds_the_lease_and_is_silent_is_named(ward: Ward) -> None:
    with ward.held():
        ward.tells()
        assert ward.codes(at=time.time() + 20) == []
        found = first(ward.report(at=time.time() + 600))
    assert found.code == "silent"
    assert f"kill -9 {os.getpid()}" in found.mend[0]


def test_a_batch_that_hangs_is_told_with_its_phase(ward: Ward) -> None:
    ward.ran(10, every=10.0, seconds=8.0)
    with ward.held():
        ward.tells(in_hand=InHand(4, time.time() - 50, "pass", time.time() - 50))
        assert ward.codes() == [], "50 s are not three times the target of 20"
        ward.tells(in_hand=InHand(4, time.time() - 900, "topics", time.time() - 890))
        found = first(ward.report())
    assert (found.code, "phase `topics`" in found.cause) == ("stuck_batch", True)
    assert "kill -9 4711" in found.mend[1]


def test_an_alert_that_nothing_else_explains_is_told_and_others_are_not_told_twice(ward: Ward) -> None:
    def raised(name: str) -> dict[str, Any]:
        return {
            "alert": name,
            "text": "it is so",
            "since": time.time(),
            "cause": "Why.",
            "next_step": "penstock lag FILE",
        }

    ward.ran(30, every=10.0, rejected={"invalid_json": 600})
    with ward.held():
        ward.tells(alerts=(raised("no_data"), raised("reject_rate")))
        found = ward.report()
    assert [each.code for each in found.findings] == ["reject_rate", "alert_raised"]
    assert (found.findings[1].cause, found.findings[1].mend) == (
        "the alert `no_data` is raised: it is so",
        ("penstock lag p.yaml",),
    )


DAMAGE: dict[str, Callable[[Ward], object]] = {
    "an empty offset file": lambda ward: (ward.past.spark / "offsets" / "2").write_text(""),
    "a missing commit": lambda ward: (ward.past.spark / "commits" / "1").unlink(),
    "no metadata": lambda ward: (ward.past.spark / "metadata").unlink(),
    "a ledger that is gone": lambda ward: shutil.rmtree(ward.state / "ledger"),
    "a table that is gone": lambda ward: shutil.rmtree(ward.past.table()),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_the_next_run_would_be_refused_for_is_told_now(ward: Ward, what: str) -> None:
    if what == "a missing commit":
        (ward.past.spark / "commits" / "2").unlink()
    DAMAGE[what](ward)
    found = first(ward.report())
    assert found.code == "refused", found
    assert found.mend


def test_a_ledger_that_is_damaged_is_told_before_the_rest(ward: Ward) -> None:
    (ward.past.ledger().folder / "outcomes" / "2.json").write_text("{")  # type: ignore[union-attr]
    found = ward.report()
    assert [each.code for each in found.findings] == ["damaged_ledger"]
    assert "restore the state folder" in found.findings[0].mend[0]
