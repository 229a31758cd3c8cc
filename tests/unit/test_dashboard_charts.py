"""Charts of the dashboard: rows are shared between the steps that a batch touches, and none is lost."""

from __future__ import annotations

import pytest

from penstock.ui.charts import Steps, spark_of
from penstock.ui.models import Course


def row(at: float, rows: float) -> dict[str, float]:
    return {"at": at, "rows": rows, "seconds": 1.0, "longest_seconds": 1.0, "batches": 1.0, "rejected": 0.0}


def steps(until: float, *batches: tuple[float, float]) -> Steps:
    made = Steps(600.0, 60.0, until)
    for at, rows in batches:
        made.batch(row(at, rows))
    return made


def test_a_steady_stream_is_a_steady_line_whatever_the_interval_of_batches() -> None:
    made = steps(6000.0, *((5400.0 + place * 14.0, 1400.0) for place in range(1, 43)))
    assert made.rates()[1:] == [pytest.approx(100.0, rel=0.01)] * 9


def test_no_row_is_lost_or_doubled() -> None:
    made = steps(6000.0, (5430.0, 10.0), (5490.0, 20.0), (5700.0, 30.0), (5700.0, 5.0), (5999.0, 40.0), (6000.0, 7.0))
    assert sum(bucket.rows for bucket in made.buckets) == pytest.approx(112.0)


def test_rows_after_a_long_pause_are_not_spread_over_the_pause() -> None:
    made = steps(6000.0, (5430.0, 600.0), (5910.0, 600.0))
    rates = made.rates()
    assert rates[4] == rates[5] == rates[6] == 0.0
    assert sum(rate * 60 for rate in rates[7:] if rate) == pytest.approx(600.0)


def test_a_step_that_has_hardly_begun_is_not_shown_as_a_fall() -> None:
    early = steps(5970.0 + 40.0, *((5400.0 + place * 10.0, 1000.0) for place in range(1, 61)))
    assert early.rates()[-1] is None
    late = steps(6050.0, *((5460.0 + place * 10.0, 1000.0) for place in range(1, 60)))
    assert late.rates()[-1] == pytest.approx(100.0, rel=0.05)


def test_nothing_is_drawn_where_nobody_was_heard_of() -> None:
    rates = steps(6000.0, (5710.0, 60.0), (5770.0, 60.0)).rates()
    assert rates[:4] == [None] * 4
    assert rates[-3:] == [None] * 3


def test_the_line_of_the_overview_is_the_last_half_hour() -> None:
    names = ("lag_rows", "lag_seconds", "arrival_per_second", "batch_seconds", "longest_seconds", "rejected")
    rates: list[float | None] = [None] * 30 + [float(place) for place in range(30)]
    lists = {name: [None] * 60 for name in names}
    course = Course(since=0, until=3600, step=60, at=[], rows_per_second=rates, happened=[], damaged=0, **lists)
    line = spark_of(course)
    assert (len(line), line[0], line[-1]) == (15, 0.5, 28.5)
