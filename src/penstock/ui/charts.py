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


def course_of(courses: Courses, span: str, until: float) -> Course:
    """How it went during so long before `until`. Of a step the highest lag is shown: no peak is averaged away."""
    length, step = SPANS[span]
    count = round(length / step)
    end = math.ceil(until / step) * step
    since = end - length
    days = courses.days(since, end)
    buckets = [Bucket() for _ in range(count)]
    known = [math.inf, -math.inf]
    for day in days:
        for row in within(day.batches, since, end):
            _add_batch(buckets[min(int((row["at"] - since) / step), count - 1)], row)
            known = [min(known[0], row["at"]), max(known[1], row["at"])]
        for row in within(day.lags, since, end):
            _add_lag(buckets[min(int((row["at"] - since) / step), count - 1)], row)
            known = [min(known[0], row["at"]), max(known[1], row["at"])]
    at = [since + number * step for number in range(count)]
    alive = [start + step > known[0] and start <= known[1] for start in at]
    happened = [row for day in days for row in day.runs if since <= row["at"] <= end]
    return Course(
        since=since,
        until=end,
        step=step,
        at=at,
        lag_rows=[_most(each.lag) for each in buckets],
        lag_seconds=[_most(each.lag_seconds) for each in buckets],
        rows_per_second=[round(e.rows / step, 3) if on else None for e, on in zip(buckets, alive, strict=True)],
        arrival_per_second=[_most(each.arrival) for each in buckets],
        batch_seconds=[round(each.seconds / each.batches, 3) if each.batches else None for each in buckets],
        longest_seconds=[round(each.longest, 3) if each.batches else None for each in buckets],
        rejected=[e.rejected if on else None for e, on in zip(buckets, alive, strict=True)],
        happened=[happened_of(row) for row in happened[-MOST_EVENTS:]],
        damaged=sum(day.damaged + day.cut for day in days),
    )


def _add_batch(bucket: Bucket, row: dict[str, float]) -> None:
    bucket.rows += _whole(row["rows"])
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
