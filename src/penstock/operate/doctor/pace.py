"""Falling behind: too little to work with, a slow sink, a cap, a slow disk; and batches that are too many."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.counting import spoken
from penstock.observe.alerting import number
from penstock.operate.doctor.course import Course
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.growth import HELD_UP, growth
from penstock.operate.doctor.words import edit, when
from penstock.pace.law import FULL
from penstock.sinks.kafka import Topic
from penstock.triggers import seconds_between

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient

BACK_TO_BACK = 0.8
"""Above this share of the time in batches, they follow one another without a pause."""
MOST = 0.5
"""A phase that takes more than this share of batches is what makes them long."""
LEAST_SECONDS = 1.0
"""Phases that take less than this in a batch slow nobody down."""
SLOW_STATE_SECONDS, SLOW_STATE_SHARE = 1.0, 0.3
DEAD_LETTERS = "dead_letters"
FEW_ROWS, OFTEN_SECONDS, MANY_BATCHES = 1000, 5.0, 60


@diagnosis(
    "slow_sink",
    Harm.BEHIND,
    "the commits of tables or topics take most of a batch's time, and it falls behind or batches are overdue",
    explains=("under_provisioned", "retention", "behind"),
)
def slow_sink(patient: Patient) -> Iterator[Finding]:
    course = patient.course
    if course is None or not course.phases:
        return
    phase = max(("tables", "topics"), key=lambda name: course.phases.get(name, 0.0))
    share, each = course.share(phase), course.phases.get(phase, 0.0)
    grows = growth(patient)
    late = course.batch_seconds > max(patient.usual.target_seconds, patient.usual.every_seconds)
    if share < MOST or each < LEAST_SECONDS or not (grows or late):
        return
    names = _slowest(course, _sinks(patient, phase))
    noun = "table" if phase == "tables" else "topic"
    whose = f"the {noun} of sink {names[0]}" if len(names) == 1 else f"{noun}s (sinks {', '.join(names)})"
    yield Finding(
        f"a slow sink: the commit to {whose} takes {spoken(each)} of a batch's {spoken(course.phased_seconds)} "
        f"({share:.0%})",
        (*_course(patient, course), *_phases(course), *_commits(course), *(grows.evidence if grows else ())),
        _faster(patient, phase, names),
        weight=0.85,
    )


def _sinks(patient: Patient, phase: str) -> list[str]:
    if patient.pipeline is None:
        return list(patient.table_paths) or ["?"]
    kafka = {name for name, sink in patient.pipeline.sinks.items() if isinstance(sink.to, Topic)}
    named = [name for name in patient.pipeline.sinks if (name in kafka) == (phase == "topics")]
    letters = "topics" if patient.pipeline.dead_letters.kafka else "tables"
    return [*named, DEAD_LETTERS] if phase == letters else named


def _slowest(course: Course, names: list[str]) -> list[str]:
    """Those of the sinks whose commits are the slow ones; all of them where nobody measured each."""
    times = {name: course.sink_seconds.get(name, 0.0) for name in names}
    if not any(times.values()):
        return [name for name in names if name != DEAD_LETTERS] or names
    return [name for name in names if times[name] >= MOST * max(times.values())]


def _commits(course: Course) -> Iterator[str]:
    times = sorted(course.sink_seconds.items(), key=lambda each: -each[1])[:4]
    if any(spent for _, spent in times):
        told = ", ".join(f"{name} {spoken(spent)}" for name, spent in times)
        yield f"the commit of a batch to each sink: {told}"


def _faster(patient: Patient, phase: str, names: list[str]) -> tuple[str, ...]:
    if phase == "topics":
        return (
            "look at the brokers that are written to: their disks, their network, min.insync.replicas",
            edit(patient, f"sinks.{names[0]}.kafka.linger: 50 milliseconds   (fewer, larger requests)"),
        )
    sinks = patient.pipeline.sinks if patient.pipeline else {}
    bys = [name for name in names if name in sinks and getattr(sinks[name].to, "writer", "") == "spark"]
    if bys:
        return (edit(patient, f"sinks.{bys[0]}.delta.writer: auto   (Spark's own commit is far slower)"),)
    return (
        edit(patient, "trigger: {every: 1 minute}   (fewer, larger commits)"),
        "look at the disk of the table's folder, and whether others commit to it all the time",
    )


@diagnosis(
    "slow_state",
    Harm.BEHIND,
    "the small files of the state take seconds of each batch: its disk is slow",
    explains=("under_provisioned", "retention", "behind"),
)
def slow_state(patient: Patient) -> Iterator[Finding]:
    course = patient.course
    if course is None or not course.phases:
        return
    share = course.share("intent", "freeze", "outcome")
    each = share * course.phased_seconds
    if share < SLOW_STATE_SHARE or each < SLOW_STATE_SECONDS:
        return
    grows = growth(patient)
    yield Finding(
        f"the state lies on a slow disk: its small files take {spoken(each)} of each batch ({share:.0%})",
        (
            *_course(patient, course),
            *_phases(course),
            f"the state is {patient.workplace}",
            *(grows.evidence if grows else ()),
        ),
        (edit(patient, "state: a folder on a local disk   (stop the pipeline, move the folder as a whole, then run)"),),
        weight=0.7,
    )


@diagnosis(
    "max_rows",
    Harm.BEHIND,
    "batches are cut off at `pace.max_rows` long before they reach their target, and it falls behind",
    explains=("under_provisioned", "retention", "behind"),
)
def max_rows(patient: Patient) -> Iterator[Finding]:
    course, grows = patient.course, growth(patient)
    if course is None or patient.pipeline is None or grows is None:
        return
    most, target = patient.pipeline.pace.max_rows, patient.usual.target_seconds
    capped = course.read_limit is None or course.read_limit >= most
    if not capped or course.batch_rows < FULL * most or course.batch_seconds > target / 2:
        return
    room = max(2, int(target / max(course.batch_seconds, 0.001)))
    yield Finding(
        f"`pace.max_rows` is too low: batches are cut off at {most:,} rows after {spoken(course.batch_seconds)}, and "
        f"{spoken(target)} is their target",
        (*_course(patient, course), *grows.evidence),
        (edit(patient, f"pace: {{max_rows: {most * min(room, 100)}}}"),),
        weight=0.9,
    )


@diagnosis(
    "under_provisioned",
    Harm.BEHIND,
    "more comes than is read, while batches follow one another without a pause and spend their time on records",
    explains=("retention", "behind"),
)
def under_provisioned(patient: Patient) -> Iterator[Finding]:
    course, grows = patient.course, growth(patient)
    if course is None or grows is None or course.busy < BACK_TO_BACK:
        return
    slots, cores = _slots(patient), os.cpu_count() or 1
    evidence = [*grows.evidence, *_course(patient, course), *_phases(course)]
    if patient.pipeline is not None:
        evidence.append(f"it has {slots} task slots; this machine has {cores} cores")
    yield Finding(
        f"too little to work with: batches run back to back ({course.busy:.0%} of the time) and more comes than is "
        "read",
        tuple(evidence),
        _stronger(patient, slots, cores),
        weight=0.7,
        unless=HELD_UP,
    )


def _slots(patient: Patient) -> int:
    master = patient.pipeline.spark.get("spark.master", "") if patient.pipeline else ""
    match = re.match(r"local\[(\d+|\*)", str(master))
    return int(match[1]) if match and match[1] != "*" else os.cpu_count() or 1


def _stronger(patient: Patient, slots: int, cores: int) -> tuple[str, ...]:
    if patient.pipeline is None:
        return (
            "give the job more executors or cores; with fewer partitions than cores:  .option('minPartitions', CORES)",
        )
    if slots < cores:
        return (edit(patient, f"spark: {{spark.master: 'local[{cores},4]'}}   (it uses {slots} of {cores} cores)"),)
    return (
        f"run it on a machine with more cores than {cores}, or on a cluster",
        "see which stage keeps rows in Spark, and so costs most:  penstock plan " + (patient.file or "FILE"),
    )


@diagnosis(
    "too_frequent",
    Harm.COSTLY,
    f"batches come more often than every {OFTEN_SECONDS:g} seconds with fewer than {FEW_ROWS:,} rows each: the fixed "
    "cost of a batch takes most of the time",
    explains=("small_files",),
)
def too_frequent(patient: Patient) -> Iterator[Finding]:
    course, pipeline = patient.course, patient.pipeline
    if course is None or (pipeline is not None and pipeline.profile == "latency"):
        return
    often = course.between_seconds < OFTEN_SECONDS and course.batches >= MANY_BATCHES
    if not often or course.batch_rows >= FEW_ROWS or course.busy < MOST:
        return
    every = seconds_between(pipeline.trigger) if pipeline else 0.0
    how = f"the trigger is every {spoken(every)}" if every else "the trigger lets batches follow one another"
    fix = (
        edit(patient, "trigger: {every: 30 seconds}")
        if patient.ours
        else "in the job:  .trigger(processingTime='30 seconds')"
    )
    yield Finding(
        f"batches are too frequent: {course.batches:,} of {number(course.batch_rows)} rows on average, one every "
        f"{spoken(course.between_seconds)}",
        (*_course(patient, course), f"{how}; a batch costs {spoken(course.batch_seconds)} however few rows it has"),
        (fix,),
        weight=0.8,
    )


def _course(patient: Patient, course: Course) -> Iterator[str]:
    yield (
        f"{course.batches:,} batches in the {spoken(course.until - course.since)} up to {when(patient, course.until)}: "
        f"{spoken(course.batch_seconds)} each with {number(course.batch_rows)} rows, {course.busy:.0%} of the time busy"
    )


def _phases(course: Course) -> Iterator[str]:
    if course.phases:
        parts = sorted(course.phases.items(), key=lambda each: -each[1])[:4]
        yield "of a batch's time: " + ", ".join(f"{name} {course.share(name):.0%}" for name, _ in parts)
