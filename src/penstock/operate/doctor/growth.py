"""Does it fall behind? And which diagnoses say that something else holds it up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.counting import spoken
from penstock.observe.alerting import number
from penstock.observe.trend import FLOOR
from penstock.operate.doctor.words import when

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient

GROWING_LOOKS = 5
HELD_UP = ("broker_away", "advertised", "login", "waiting", "stuck_batch", "silent", "disk_full", "table_unreadable")
"""Diagnoses of what holds batches up: then it is not the number of cores."""
FALLS_BACK = 1.05
"""More than this many times what is read must come before it is called falling behind."""


@dataclass(frozen=True)
class Growth:
    """That the reader falls behind, and how anybody knows."""

    rows: int
    evidence: tuple[str, ...]


def growth(patient: Patient) -> Growth | None:
    """Does it fall behind? Told by the process that watches, else by what it kept, else by the broker itself."""
    lag, now = patient.lag, patient.now
    rows = lag.rows if lag is not None else now.lag.rows if now and now.lag else 0
    if rows <= FLOOR:
        return None
    if patient.fresh and now is not None and now.lag is not None and now.lag.total is not None:
        total = now.lag.total
        if total.trend != "growing" and not any(alert.get("alert") == "lag_growing" for alert in now.alerts):
            return None
        comes, read = total.arrival_per_second, total.read_per_second
        if comes is not None and read is not None and comes <= read:
            return None  # it reads faster than records come: something held it up
        rates = f"{number(comes or 0)} come a second, {number(read or 0)} are read"
        return Growth(rows, (f"{number(rows)} rows wait, and more with every batch: {rates}",))
    kept = patient.lags[-GROWING_LOOKS:]
    growing = [row for row in kept if row["trend"] == "growing"]
    if kept and 2 * len(growing) > len(kept):
        first, last = kept[0], kept[-1]
        span = last["at"].timestamp() - first["at"].timestamp()
        return Growth(
            rows,
            (
                f"{number(rows)} rows wait now",
                f"while it ran the lag rose from {number(first['rows'])} to {number(last['rows'])} rows in "
                f"{spoken(span)}, up to {when(patient, last['at'].timestamp())}",
            ),
        )
    return None if patient.ours else _by_the_broker(patient, rows)


def _by_the_broker(patient: Patient, rows: int) -> Growth | None:
    """Of a job that nobody watched: what came to its topics lately, against what its checkpoint says it read."""
    course, cluster, found = patient.course, patient.cluster, patient.foreign
    if course is None or cluster is None or found is None or not course.per_second:
        return None
    parts = list(found.positions)
    since = max(course.since, patient.at - 3600.0)
    then, ends = cluster.at_time(parts, int(since * 1000)), cluster.latest(parts)
    came = sum(ends[part] - then[part] for part in parts if then.get(part, -1) >= 0)
    comes = came / max(1.0, patient.at - since)
    if comes <= FALLS_BACK * course.per_second:
        return None
    told = f"{number(rows)} rows wait: {number(comes)} come a second, {number(course.per_second)} are read"
    return Growth(rows, (f"{told} (over {spoken(patient.at - since)})",))
