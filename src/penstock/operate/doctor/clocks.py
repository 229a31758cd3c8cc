"""Clocks that are wrong: of producers, of the broker, of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.counting import counted, spoken
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.losses import keeping
from penstock.operate.doctor.words import set_topic, when

if TYPE_CHECKING:
    from penstock.observe.lag import PartitionLag
    from penstock.operate.doctor.patient import Patient
    from penstock.operate.doctor.reach import Newest

AHEAD_SECONDS = 60.0
"""Clocks differ by some seconds everywhere; beyond this somebody's is wrong."""
OLD_SECONDS = 3600.0
"""A record that came just now and says that it is older than this has a wrong timestamp, or was sent again."""


@diagnosis(
    "time_skew",
    Harm.WRONG,
    "records are dated in the future or far in the past, or the clocks of this machine and of the broker differ",
)
def time_skew(patient: Patient) -> Iterator[Finding]:
    ahead = [each for each in patient.newest if each.timestamp > patient.at + AHEAD_SECONDS]
    if ahead:
        yield _ahead(patient, max(ahead, key=lambda each: each.timestamp), len(ahead))
    mark = patient.foreign.planned.watermark_ms if patient.foreign and patient.foreign.planned else None
    if mark is not None and mark / 1000 > patient.at + AHEAD_SECONDS:
        yield Finding(
            f"the job's watermark is {spoken(mark / 1000 - patient.at)} in the future: what comes now counts as late "
            "and is dropped",
            (f"the watermark is {when(patient, mark / 1000).split(',')[0]}; records dated ahead have moved it",),
            ("leave out records dated ahead of now before withWatermark; the watermark itself never goes back",),
            weight=0.9,
        )
    old = _old(patient)
    if old is not None:
        age, waits = old.age_seconds or 0.0, old.waiting_seconds or 0.0
        yield Finding(
            f"records that came {spoken(waits)} ago say that they are {spoken(age)} old: a producer's clock is wrong, "
            "or old records are sent again",
            (
                f"{old.name}: the next unread record is dated {spoken(age)} back and has waited {spoken(waits)}",
                *keeping([old]),
                "the broker deletes by that date: such records may go at once",
            ),
            ("correct the producer's clock; or let the broker set the time: " + _append_time(patient, old.topic),),
            weight=0.7,
        )


def _ahead(patient: Patient, worst: Newest, count: int) -> Finding:
    by = spoken(worst.timestamp - patient.at)
    name = f"{worst.topic}-{worst.partition}"
    if worst.by_broker:
        return Finding(
            f"the clocks differ: the broker dates records {by} ahead of this machine's clock",
            (f"the newest record of {name} (LogAppendTime) is dated {by} ahead", f"so in {count} partitions"),
            ("set the clocks of brokers and of this machine by NTP:  timedatectl status",),
            weight=0.9,
        )
    return Finding(
        f"records are dated {by} in the future: a producer's clock is wrong",
        (
            f"the newest record of {name} (CreateTime) is dated {by} ahead of this machine's clock",
            f"so in {counted(count, 'partition')} that was looked at"
            if count == 1
            else f"so in {counted(count, 'partition')} that were looked at",
            "the topic keeps such records longer, and lag in seconds is too small",
        ),
        ("correct the producer's clock; or let the broker set the time: " + _append_time(patient, worst.topic),),
        weight=0.8,
    )


def _append_time(patient: Patient, topic: str) -> str:
    return " " + set_topic(patient, topic, "message.timestamp.type=LogAppendTime")


def _old(patient: Patient) -> PartitionLag | None:
    """An unread record that is far older than the time it has waited, as the process that watches saw it."""
    lag = patient.now.lag if patient.fresh and patient.now else None
    for part in lag.partitions if lag else ():
        if part.age_seconds and part.waiting_seconds and part.age_seconds - part.waiting_seconds > OLD_SECONDS:
            return part
    return None
