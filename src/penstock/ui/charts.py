"""The past of a pipeline in steps of equal length, for charts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise

from penstock.observe.course import Courses, within
from penstock.ui.models import Course, Happened

SPANS = {
    "15m": (900.0, 15.0),
    "1h": (3600.0, 60.0),
    "6h": (21_600.0, 300.0),
    "24h": (86_400.0, 900.0),
    "7d": (604_800.0, 7200.0),
    "30d": (2_592_000.0, 28_800.0),
}
"""What may be asked for: seconds in all, and of one step."""
MOST_EVENTS = 200


@dataclass
class Bucket:
    """What falls into one step."""

    rows: float = 0.0
    seconds: float = 0.0
    batches: float = 0.0
    longest: float = 0.0
    rejected: float = 0.0
    lag: list[float] = field(default_factory=list)
    lag_seconds: list[float] = field(default_factory=list)
    arrival: list[float] = field(default_factory=list)


class Steps:
    """Steps of equal length between two times, and what falls into them."""

    def __init__(self, length: float, step: float, until: float) -> None:
        self.step, self.until = step, until
        self.end = math.ceil(until / step) * step
        self.since = self.end - length
        self.buckets = [Bucket() for _ in range(round(length / step))]
        self.first, self.last = math.inf, -math.inf
        self._before = -math.inf

    def _of(self, at: float) -> Bucket:
        self.first, self.last = min(self.first, at), max(self.last, at)
        return self.buckets[max(0, min(int((at - self.since) / self.step), len(self.buckets) - 1))]

    def batch(self, row: dict[str, float]) -> None:
        """Its rows came since the batch before, so they are shared between the steps that this time touches."""
        at, rows = row["at"], _whole(row["rows"])
        _add_batch(self._of(at), row)
        began = max(at - self.step, self._before, self.since)
        inside = max(self.since, math.floor(at / self.step) * self.step)
        share = (inside - began) / (at - began) if began < inside else 0.0
        self._before = at
        self._of(at).rows += rows * (1 - share)
        if share:
            self._of(inside - self.step / 2).rows += rows * share

    def lag(self, row: dict[str, float]) -> None:
        _add_lag(self._of(row["at"]), row)

    def rates(self) -> list[float | None]:
        """Rows a second; None before and after anybody was heard of, and where a step has hardly begun."""
        made: list[float | None] = []
        for place, bucket in enumerate(self.buckets):
            start = self.since + place * self.step
            passed = self._passed(start)
            heard = start + self.step > self.first and start <= self.last and passed >= self.step / 2
            made.append(round(bucket.rows / passed, 3) if heard else None)
        return made

    def _passed(self, start: float) -> float:
        """How much of this step is over; of the last one, as far as batches tell of it: the next comes only later."""
        passed = min(self.step, self.until - start)
        told = self._before - start
        return told if start + self.step >= self.end and self.step / 2 <= told < passed else passed


def course_of(courses: Courses, span: str, until: float) -> Course:
    """How it went during so long before `until`. Of a step the highest lag is shown: no peak is averaged away."""
    steps = Steps(*SPANS[span], until)
    since, end = steps.since, steps.end
    days = courses.days(since, end)
    for day in days:
        for row in within(day.batches, since, end):
            steps.batch(row)
        for row in within(day.lags, since, end):
            steps.lag(row)
    buckets, rates = steps.buckets, steps.rates()
    happened = [row for day in days for row in day.runs if since <= row["at"] <= end]
    return Course(
        since=since,
        until=end,
        step=steps.step,
        at=[since + place * steps.step for place in range(len(buckets))],
        lag_rows=[_most(each.lag) for each in buckets],
        lag_seconds=[_most(each.lag_seconds) for each in buckets],
        rows_per_second=rates,
        arrival_per_second=[_most(each.arrival) for each in buckets],
        batch_seconds=[round(each.seconds / each.batches, 3) if each.batches else None for each in buckets],
        longest_seconds=[round(each.longest, 3) if each.batches else None for each in buckets],
        rejected=[None if rate is None else each.rejected for each, rate in zip(buckets, rates, strict=True)],
        happened=[happened_of(row) for row in happened[-MOST_EVENTS:]],
        damaged=sum(day.damaged + day.cut for day in days),
    )


def _add_batch(bucket: Bucket, row: dict[str, float]) -> None:
    bucket.seconds += _whole(row["seconds"])
    bucket.batches += _whole(row["batches"])
    bucket.longest = max(bucket.longest, _whole(row["longest_seconds"]))
    bucket.rejected += _whole(row["rejected"])


def _add_lag(bucket: Bucket, row: dict[str, float]) -> None:
    bucket.lag.append(row["rows"])
    bucket.lag_seconds.append(row["lag_seconds"])
    bucket.arrival.append(row["arrival_per_second"])


def _whole(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _most(values: list[float]) -> float | None:
    return max((value for value in values if not math.isnan(value)), default=None)


def spark_of(course: Course) -> list[float | None]:
    """The last half hour, for a line of a few pixels; two minutes a point, so that batches do not flicker."""
    rates = course.rows_per_second[-30:]
    return [_mean(one, other) for one, other in list(pairwise(rates))[::2]]


def _mean(one: float | None, other: float | None) -> float | None:
    known = [value for value in (one, other) if value is not None]
    return round(sum(known) / len(known), 3) if known else None


def happened_of(row: dict[str, object]) -> Happened:
    at = row["at"]
    assert isinstance(at, int | float)
    return Happened(
        at=float(at), event=str(row.get("event")), run=str(row.get("run") or ""), text=str(row.get("text") or "")
    )
