"""Partitions: one that holds nearly everything, records that are deleted unread or about to be, wrong clocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from penstock.counting import counted, size, spoken
from penstock.observe import alerting_known as known
from penstock.observe.alerting import number
from penstock.observe.metrics import Readings
from penstock.observe.metrics_kept import readings_of
from penstock.observe.trend import FLOOR
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.pace import HELD_UP, MOST, growth
from penstock.operate.doctor.words import command, edit, set_topic, when
from penstock.pace import hot as hot_law

if TYPE_CHECKING:
    from penstock.observe.lag import PartitionLag
    from penstock.operate.doctor.patient import Patient
    from penstock.operate.doctor.reach import Newest

AHEAD_SECONDS = 60.0
"""Clocks differ by some seconds everywhere; beyond this somebody's is wrong."""
OLD_SECONDS = 3600.0
"""A record that came just now and says that it is older than this has a wrong timestamp, or was sent again."""
RECENT_SECONDS = 86_400.0
CAUSES = ("under_provisioned", "slow_sink", "slow_state", "max_rows", "hot_partition", "burst", "run_failed", "killed")
"""Diagnoses that say why a pipeline falls behind."""
IDLE_SECONDS = 600.0
"""A job that committed nothing for less is not called dead, whatever waits."""


def _lost(part: PartitionLag) -> str:
    last = part.position + part.lost - 1
    return f"{part.name}: offsets {part.position} to {last} ({counted(part.lost, 'offset')}) were never read"


@diagnosis(
    "records_gone",
    Harm.LOSS,
    "the broker has deleted records that were not read yet",
    explains=("run_failed", "retention"),
)
def records_gone(patient: Patient) -> Iterator[Finding]:
    lag = patient.lag
    lost = [part for part in lag.partitions if part.lost] if lag else []
    if not lost:
        return
    total, topics = sum(part.lost for part in lost), sorted({part.topic for part in lost})
    accept = (
        f"accept the loss once:  {command(patient, 'run', '--accept-loss')}"
        if patient.ours
        else "the job skips them without a word if it has failOnDataLoss=false, else it fails: restore them first"
    )
    yield Finding(
        f"records are lost: {number(total)} offsets of {', '.join(topics)} were deleted before they were read",
        (*(_lost(part) for part in lost[:5]), *_keeping(lost)),
        (
            "restore them to the topic from where they came, if anybody has them",
            accept,
            f"so that it does not happen again:  {set_topic(patient, topics[0], 'retention.ms=604800000')}",
        ),
        weight=1.0,
    )


@diagnosis("gap_accepted", Harm.WRONG, "in the last day the pipeline went on without records that were gone")
def gap_accepted(patient: Patient) -> Iterator[Finding]:
    late = [gap for gap in patient.gaps if gap["at"].timestamp() > patient.at - RECENT_SECONDS]
    if not late:
        return
    total = sum(gap["offsets"] for gap in late)
    yield Finding(
        f"the pipeline went on without {counted(total, 'offset')} that the broker had deleted",
        tuple(
            f"batch {gap['batch_id']}: {gap['topic']}-{gap['partition']} offsets {gap['start']} to {gap['end'] - 1}, "
            f"{when(patient, gap['at'].timestamp())}"
            for gap in late[:5]
        ),
        (f"the whole list is a table:  {patient.workplace}/gaps/*.parquet",),
        weight=0.6,
    )


@diagnosis("retention", Harm.LOSS, "unread records are about to be deleted by the broker, at the present pace")
def retention(patient: Patient) -> Iterator[Finding]:
    lag = patient.lag
    if lag is None:
        return
    readings = readings_of(lag)
    danger = [topic.topic for topic in lag.topics if known.runway(readings, topic.topic) is not None]
    if not danger:
        return
    parts = [
        part for part in lag.partitions if part.topic in danger and part.runway and part.runway.seconds is not None
    ]
    worst = min(parts, key=lambda part: part.runway.seconds or 0.0 if part.runway else 0.0)
    assert worst.runway is not None
    way = worst.runway
    longer = int(3000 * max(way.retention_seconds or 3600.0, worst.seconds or 0.0))
    setting = f"retention.ms={longer}" if way.by == "time" else f"retention.bytes={3 * (way.retention_bytes or 0)}"
    yield Finding(
        f"in {spoken(way.seconds)} the broker begins to delete records of {worst.topic} that were not read",
        (
            f"{worst.name}: {number(worst.rows)} rows wait, the oldest for {spoken(worst.seconds)}",
            *_keeping([worst]),
            *_stands(patient),
        ),
        (
            f"let the topic keep more for now:  {set_topic(patient, worst.topic, setting)}",
            *((command(patient, "run"),) if patient.ours and not patient.running else ()),
        ),
        weight=0.95,
    )


def _keeping(parts: Sequence[PartitionLag]) -> Iterator[str]:
    for part in parts[:1]:
        way = part.runway
        if way is not None and way.retention_seconds is not None:
            yield f"topic {part.topic} keeps records for {spoken(way.retention_seconds)} (retention.ms)"
        if way is not None and way.retention_bytes is not None:
            yield f"topic {part.topic} keeps {size(way.retention_bytes)} of a partition (retention.bytes)"


def _stands(patient: Patient) -> Iterator[str]:
    if patient.running is False:
        yield "nobody runs the pipeline"
    found = patient.foreign
    if not patient.ours and found is not None and found.last_commit_at is not None:
        yield f"the job's last commit is of {when(patient, found.last_commit_at)}"


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
                *_keeping([old]),
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
