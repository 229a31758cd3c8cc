"""Small records cross unweighed; a large one makes the pass void, and the batch is read again, weighed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame

from penstock.stages import Check
from penstock.steps.compiled.compile import SWITCH
from penstock.steps.flow import collected
from penstock.steps.weighing import BYTES, FEWER_ROWS, ROWS, UNBOUNDED, still_weighed
from penstock.testing.batches import Bench
from penstock.worker.intake import LARGE

Make = Callable[..., Bench]
SMALL = [b'{"id": %d, "name": "n"}' % number for number in range(4)]


def large(number: int) -> bytes:
    return b'{"id": %d, "name": "%s"}' % (number, b"x" * LARGE)


def test_large_records_are_read_whole_and_once(bench: Make) -> None:
    case = bench()
    plan = case.plan()
    case.write([*SMALL, large(4), b"oops", b"y" * (2 * LARGE)], plan=plan)
    assert case.names() == [(0, number) for number in range(5)]
    assert case.dead('code, "offset", octet_length(value)') == [("invalid_json", 5, 4), ("invalid_json", 6, 2 * LARGE)]
    assert plan.weighed
    outcome = plan.ledger.last_outcome()
    assert outcome is not None
    assert (outcome.read, outcome.tally.large) == (7, 2)


def test_small_records_cross_unweighed(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench()
    plan = case.plan()
    bounds = seen_bounds(monkeypatch)
    case.write(SMALL, plan=plan)
    assert bounds == [UNBOUNDED]
    assert not plan.weighed
    assert case.spark.conf.get(BYTES) != UNBOUNDED, "the session is left as it was"


def test_a_large_record_costs_one_more_read_and_the_next_batch_none(
    bench: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = bench()
    plan = case.plan()
    bounds = seen_bounds(monkeypatch)
    own = case.spark.conf.get(BYTES)
    case.write([*SMALL, large(4)], plan=plan)
    case.write([large(5)], 1, first=5, plan=plan)
    assert bounds == [UNBOUNDED, own, own]
    assert case.names() == [(0, number) for number in range(6)]


def test_what_a_spark_stage_gives_is_weighed_in_smaller_batches(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "0")
    case = bench(sections={"checks": (Check(name="named", rule="name IS NOT NULL"),)})
    own = case.spark.conf.get(ROWS)
    bounds = seen_bounds(monkeypatch, ROWS)
    case.write([*SMALL, large(4), b'{"id": 5}'])
    assert bounds == [str(FEWER_ROWS)], "one pass, whatever is in it"
    assert case.spark.conf.get(ROWS) == own, "the session is left as it was"
    assert case.names() == [(0, number) for number in range(5)]
    assert case.dead() == [("named", None)]


@pytest.mark.parametrize(
    ("many", "read", "before", "after"),
    [(1, 10, False, True), (0, 10, True, True), (0, 1_000_000, True, False), (0, 10, False, False)],
)
def test_weighing_ends_when_a_long_batch_had_no_large_record(many: int, read: int, before: bool, after: bool) -> None:
    assert still_weighed(many, read, before=before) is after


def seen_bounds(monkeypatch: pytest.MonkeyPatch, setting: str = BYTES) -> list[str]:
    """The bound of every pass from now on, in bytes or in rows."""
    seen: list[str] = []

    def noting(reports: DataFrame) -> list[str]:
        seen.append(reports.sparkSession.conf.get(setting) or "")
        return collected(reports)

    monkeypatch.setattr("penstock.steps.legs.collected", noting)
    return seen
