"""Tables: small files, a log that grows, what lies around in the folder, properties that do harm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.counting import size, spoken
from penstock.observe.alerting_known import MANY_FILES, SMALL_BYTES
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.words import checkpointed, edit, optimize, vacuum
from penstock.sinks.delta.checkpoint import CLEANS, KEEPS, UNITS, retention
from penstock.sinks.delta.upkeep import INTERVAL

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient
    from penstock.operate.doctor.tables import TableLook

TABLE_FILES = 1000
"""A table with fewer files is read quickly, however small they are."""
LONG_LOG, LARGE_LOG = 1000, 100_000_000
"""Commits after a checkpoint, and their bytes, that every reader feels."""
DEAD_FILES, DEAD_BYTES, DEAD_TIMES = 1000, 10_000_000_000, 2.0
DELETED = "delta.deletedFileRetentionDuration"
STAGED_SECONDS = 86_400.0
"""What a batch has frozen may lie uncommitted for so long before it is computed anew."""
LONG_INTERVAL = 1000


@diagnosis(
    "table_unreadable",
    Harm.STANDS,
    "a table that is written to cannot be read: it is gone, or its log is damaged",
    explains=("run_failed", "waiting", "stuck_batch"),
)
def table_unreadable(patient: Patient) -> Iterator[Finding]:
    there = patient.tables  # looks at them
    for name, path in patient.table_paths.items():
        why = patient.unseen.get(f"table {name}")
        written = patient.last is not None and name in patient.last.last_written
        if name in there or why is None or (patient.ours and not written):
            continue
        yield Finding(
            f"table {name} cannot be read: {why}",
            (f"the pipeline has written batch {patient.last.last_written[name]} to {path}",)
            if patient.last is not None and written
            else (f"it should be in {path}",),
            ("bring it back from a backup; do not create it anew", *_other(patient)),
            weight=0.9,
        )


def _other(patient: Patient) -> tuple[str, ...]:
    return () if patient.ours else ("name the folder that holds _delta_log:  --table PATH",)


@diagnosis(
    "small_files",
    Harm.COSTLY,
    f"more than {MANY_FILES:,} files an hour of less than 1 MB are written, or a table consists of more than "
    f"{TABLE_FILES:,} such files",
)
def small_files(patient: Patient) -> Iterator[Finding]:
    course = patient.course
    if course is not None and course.files > MANY_FILES and course.bytes / course.files < SMALL_BYTES:
        yield Finding(
            f"too many small files: {course.files:,} in {spoken(course.until - course.since)}, of "
            f"{size(course.bytes / course.files)} on average",
            (f"{course.files / course.batches:,.0f} files a batch, a batch every {spoken(course.between_seconds)}",),
            (
                edit(patient, "trigger: {every: 1 minute}   (fewer, larger batches)"),
                edit(patient, "partition_by fewer columns, where the table has them"),
                *(optimize(table.health.path) for table in list(patient.tables.values())[:1]),
            ),
            weight=0.8,
        )
        return
    for table in patient.tables.values():
        health = table.health
        if health.files > TABLE_FILES and health.average_bytes < SMALL_BYTES:
            yield Finding(
                f"table {table.name} consists of small files: {health.files:,} of {size(health.average_bytes)} on "
                "average",
                (
                    f"{health.path}, version {health.version}: {size(health.bytes)} in all",
                    "a reader opens each of them",
                ),
                (optimize(health.path), f"the same in Spark:  OPTIMIZE delta.`{health.path}`"),
                weight=0.7,
            )


@diagnosis(
    "long_log",
    Harm.COSTLY,
    f"a table's log has more than {LONG_LOG:,} commits since its last checkpoint: every reader reads them one by one",
)
def long_log(patient: Patient) -> Iterator[Finding]:
    for table in patient.tables.values():
        if table.since_checkpoint <= max(LONG_LOG, 3 * _interval(table)) and table.log_bytes <= LARGE_LOG:
            continue
        path = table.health.path
        yield Finding(
            f"the log of table {table.name} has no checkpoint since {table.since_checkpoint:,} commits",
            (
                f"{size(table.log_bytes)} of commits are read whenever the table is opened",
                f"{INTERVAL} is {table.configuration.get(INTERVAL, 'not set')}",
            ),
            (checkpointed(path),),
            weight=0.7,
        )


def _interval(table: TableLook) -> int:
    asked = table.configuration.get(INTERVAL, "")
    return int(asked) if asked.isdecimal() else 0


@diagnosis(
    "dead_files", Harm.COSTLY, "a table's folder holds far more files than the table needs: it was never vacuumed"
)
def dead_files(patient: Patient) -> Iterator[Finding]:
    for table in patient.tables.values():
        health = table.health
        much = table.dead_files > max(DEAD_FILES, DEAD_TIMES * health.files) or table.dead_bytes > max(
            DEAD_BYTES, DEAD_TIMES * health.bytes
        )
        if much:
            yield Finding(
                f"the folder of table {table.name} holds {table.dead_files:,} files ({size(table.dead_bytes)}) that "
                "the table does not need",
                (f"the table itself is {health.files:,} files, {size(health.bytes)}", f"{health.path}"),
                (vacuum(health.path), f"the same in Spark:  VACUUM delta.`{health.path}`"),
                weight=0.6,
            )


@diagnosis(
    "table_properties",
    Harm.WRONG,
    "a table property that does not fit: vacuum may take files of a batch that is not committed yet, the log is kept "
    "for less than an hour, or checkpoints are too far apart",
)
def table_properties(patient: Patient) -> Iterator[Finding]:
    for table in patient.tables.values():
        for name, why, better, weight in _misfits(table):
            yield Finding(
                f"table {table.name} has {name} = {table.configuration.get(name, '')}: {why}",
                (f"{table.health.path}, version {table.health.version}",),
                (f"ALTER TABLE delta.`{table.health.path}` SET TBLPROPERTIES ('{name}' = '{better}')",),
                weight=weight,
            )


def _misfits(table: TableLook) -> Iterator[tuple[str, str, str, float]]:
    settings = table.configuration
    kept = _seconds(settings.get(DELETED))
    if kept is not None and kept < STAGED_SECONDS:
        yield DELETED, "a vacuum may take files of a batch that is frozen and not committed", "interval 7 days", 0.8
    log = retention(settings)
    if KEEPS in settings and settings.get(CLEANS, "true") == "true" and log is not None and log < 3600:
        why = "commits are gone within the hour; who reads the table, or audits it, may find a hole"
        yield KEEPS, why, "interval 30 days", 0.7
    if _interval(table) > LONG_INTERVAL:
        yield INTERVAL, "every reader reads so many commits one by one", "100", 0.6


def _seconds(written: str | None) -> float | None:
    """A duration as Delta writes it, `interval 2 hours`."""
    words = (written or "").lower().removeprefix("interval").split()
    if len(words) != 2 or not words[0].isdecimal():
        return None
    unit = UNITS.get(words[1].rstrip("s"))
    return None if unit is None else int(words[0]) * unit
