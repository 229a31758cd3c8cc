"""Records that the broker deletes: before they were read, or soon."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from penstock.counting import counted, size, spoken
from penstock.observe import alerting_known as known
from penstock.observe.alerting import number
from penstock.observe.metrics_kept import readings_of
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.words import command, set_topic, when

if TYPE_CHECKING:
    from penstock.observe.lag import PartitionLag
    from penstock.operate.doctor.patient import Patient

RECENT_SECONDS = 86_400.0


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
        (*(_lost(part) for part in lost[:5]), *keeping(lost)),
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
            *keeping([worst]),
            *_stands(patient),
        ),
        (
            f"let the topic keep more for now:  {set_topic(patient, worst.topic, setting)}",
            *((command(patient, "run"),) if patient.ours and not patient.running else ()),
        ),
        weight=0.95,
    )


def keeping(parts: Sequence[PartitionLag]) -> Iterator[str]:
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
