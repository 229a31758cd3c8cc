"""What waits, and in which partitions: one that holds nearly everything, a burst, a pipeline that nobody runs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from penstock.counting import spoken
from penstock.observe import alerting_known as known
from penstock.observe.alerting import number
from penstock.observe.metrics import Readings
from penstock.observe.metrics_kept import readings_of
from penstock.observe.trend import FLOOR
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.growth import HELD_UP, growth
from penstock.operate.doctor.pace import MOST
from penstock.operate.doctor.words import command, edit, when
from penstock.pace import hot as hot_law

if TYPE_CHECKING:
    from penstock.observe.lag import PartitionLag
    from penstock.operate.doctor.patient import Patient

CAUSES = ("under_provisioned", "slow_sink", "slow_state", "max_rows", "hot_partition", "burst", "run_failed", "killed")
"""Diagnoses that say why a pipeline falls behind."""
IDLE_SECONDS = 600.0
"""A job that committed nothing for less is not called dead, whatever waits."""


@diagnosis(
    "hot_partition",
    Harm.BEHIND,
    "one partition holds most of what waits, or held most of a long batch while other task slots had nothing to do",
    explains=("under_provisioned", "retention", "behind"),
)
def hot_partition(patient: Patient) -> Iterator[Finding]:
    lag = patient.lag
    if lag is not None and lag.total is not None and lag.total.hot and lag.rows > _a_batch(patient):
        by_rows = sorted(lag.partitions, key=lambda part: -part.rows)
        hot = [part for part in by_rows if part.hot]
        share = sum(part.rows for part in hot) / lag.rows
        if share >= MOST:
            yield _hot(patient, hot, share, by_rows)
            return
    last = patient.last
    found = None if last is None else hot_law.hot(last.ranges, 2, last.seconds)
    if last is not None and found is not None and growth(patient) is not None:
        told = hot_law.advice(found, last.ranges, 2, last.seconds)
        said, _, mend = told.partition(" Split it:  ")
        yield Finding(
            f"a hot partition: {found.topic}-{found.partition} held {len(found):,} of the "
            f"{sum(map(len, last.ranges)):,} rows of the last batch",
            (said,),
            (edit(patient, mend),),
            weight=0.8,
        )


def _hot(patient: Patient, hot: list[PartitionLag], share: float, by_rows: list[PartitionLag]) -> Finding:
    rest = [part for part in by_rows if not part.hot and part.topic == hot[0].topic]
    beside = f"; the next of its topic has {number(rest[0].rows)}" if rest else ""
    rows = max(1000, hot[0].rows // 8)
    mend = (
        edit(patient, f"source: {{kafka: {{task_rows: {rows}}}}}   (splits it over tasks)")
        if patient.ours
        else f"in the job:  .option('maxRecordsPerPartition', {rows})  or  .option('minPartitions', N)"
    )
    return Finding(
        f"a hot partition: {hot[0].name} holds {share:.0%} of the {number(sum(part.rows for part in by_rows))} rows "
        "that wait",
        tuple(f"{part.name}: {number(part.rows)} rows wait{beside if part is hot[0] else ''}" for part in hot[:3]),
        (mend, "choose a key that spreads records, in the producer: one key goes to one partition"),
        weight=0.85,
    )


def _a_batch(patient: Patient) -> float:
    """Rows of the next batch, as far as anybody knows."""
    limit = patient.now.read_limit if patient.now else None
    if limit:
        return limit
    if patient.pipeline is not None:
        return patient.pipeline.pace.max_rows
    return max(patient.course.batch_rows if patient.course else 0.0, FLOOR)


@diagnosis(
    "burst",
    Harm.BEHIND,
    "much came at once, more than the next batch takes, and is being worked off",
    explains=("behind",),
)
def burst(patient: Patient) -> Iterator[Finding]:
    now = patient.now
    if not patient.fresh or now is None or now.lag is None or now.lag.total is None:
        return
    readings: Readings = {**readings_of(now.lag), "batch_limit": {(): float(now.read_limit or 0)}}
    for topic in now.lag.topics:
        found = known.burst(readings, topic.topic)
        if found is None:
            continue
        ends = topic.catch_up_seconds
        pace = f"caught up in {spoken(ends)}" if ends is not None else "not caught up at the present pace"
        rates = f"{number(topic.arrival_per_second or 0)} come a second, {number(topic.read_per_second or 0)} are read"
        yield Finding(
            found.text,
            (f"{rates}: {pace}",),
            (
                f"nothing, if that is soon enough. Watch it:  {command(patient, 'lag', '--watch')}",
                edit(patient, "pace: {batch_target: 1 minute}   (larger batches work it off sooner)"),
            ),
            weight=0.6,
        )


@diagnosis(
    "behind",
    Harm.BEHIND,
    "records wait, and nobody reads them: the pipeline was stopped, or a job committed nothing for long; or more comes "
    "than is read, and nothing else says why",
)
def behind(patient: Patient) -> Iterator[Finding]:
    now = patient.now
    lag = patient.lag or (now.lag if now else None)
    if lag is None or lag.rows <= FLOOR:
        return
    waits = f"{number(lag.rows)} rows wait, the oldest for {spoken(lag.seconds)}"
    if now is not None and patient.running is False and now.ended == "stopped":
        said = f"{patient.name} does not run: it was stopped {spoken(now.age(patient.at))} ago, and {waits}"
        yield Finding(said, (f"its last run ended {when(patient, now.at)}",), (command(patient, "run"),), weight=0.5)
    grows, course = growth(patient), patient.course
    if grows is not None:
        busy = "" if course is None else f"; batches are in hand {course.busy:.0%} of the time"
        yield Finding(
            f"{patient.name} falls behind: {waits}",
            (f"{grows.evidence[0]}{busy}", *grows.evidence[1:]),
            (command(patient, "lag", "--watch") if patient.ours else "give the job more cores, or a shorter trigger",),
            weight=0.4,
            unless=(*CAUSES, *HELD_UP),
        )
    found = patient.foreign
    if patient.ours or found is None or found.unfinished is not None or found.last_commit_at is None:
        return
    times = [each.committed_at for each in found.batches]
    pauses = [later - earlier for earlier, later in pairwise(times)]
    idle = patient.at - found.last_commit_at
    if idle > max(IDLE_SECONDS, 3 * max(pauses, default=0.0)):
        yield Finding(
            f"the job does not run: its last commit is {spoken(idle)} old, and {waits}",
            (
                f"batch {found.committed} was committed {when(patient, found.last_commit_at)}",
                f"the longest pause between its commits was {spoken(max(pauses, default=0.0))}",
            ),
            ("start the job again; if a schedule starts it, see why it did not",),
            weight=0.6,
        )
