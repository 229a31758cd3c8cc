"""Does it run at all? What ended it, what it waits for, whether its process still speaks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from penstock.counting import counted, spoken
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.words import command, first_line, when

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient

SILENT_SECONDS = 60.0
"""A process that holds the lease and has told nothing for so long hangs as a whole, or was stopped."""


@diagnosis(
    "run_failed",
    Harm.STANDS,
    "the last run ended with an error, and nobody runs the pipeline",
    explains=("retention", "behind"),
)
def run_failed(patient: Patient) -> Iterator[Finding]:
    now = patient.now
    if now is None or patient.running or now.ended != "failed":
        return
    said = [line.strip() for line in now.error.splitlines() if line.strip()]
    yield Finding(
        f"{patient.name} does not run: its last run failed: {said[0] if said else 'no error was kept'}",
        (
            f"it ended {when(patient, now.at)}, after {counted(now.batches, 'batch', 'batches')} of that run",
            *(f"it said: {line}" for line in said[1:4]),
        ),
        (f"mend what the error names, then:  {command(patient, 'run')}", f"log: {patient.workplace}/logs/spark.log"),
        weight=0.9,
    )


@diagnosis(
    "killed",
    Harm.STANDS,
    "the process that ran the pipeline is gone and did not say why: it was killed, or the machine went down",
    explains=("retention", "behind"),
)
def killed(patient: Patient) -> Iterator[Finding]:
    now, begun = patient.now, patient.unfinished
    if patient.running is not False or (now is not None and now.ended) or (now is None and begun is None):
        return
    batch = begun[0].batch_id if begun else now.in_hand.batch_id if now and now.in_hand else _planned(patient)
    evidence = [*_last_words(patient), *_half(patient)]
    if batch is not None:
        evidence.append(f"batch {batch} is planned and not committed: offsets are ahead of commits")
    yield Finding(
        f"{patient.name} does not run: its process was killed"
        + ("" if batch is None else f" in the middle of batch {batch}"),
        tuple(evidence),
        (f"{command(patient, 'run')}  (safe: the batch is finished or done again, once)",),
        weight=0.95,
    )


def _planned(patient: Patient) -> int | None:
    return patient.foreign.unfinished if patient.foreign is not None else None


def _last_words(patient: Patient) -> Iterator[str]:
    now = patient.now
    if now is not None:
        yield f"process {now.pid} last told of itself {when(patient, now.at)}, and it did not end by itself"
    if now is not None and now.in_hand is not None:
        yield f"it was in batch {now.in_hand.batch_id}, phase `{now.in_hand.phase}`"


def _half(patient: Patient) -> Iterator[str]:
    """Which sinks have the unfinished batch already."""
    ledger, found = patient.ledger, patient.unfinished
    if ledger is None or found is None:
        return
    intent, frozen = found
    far = "it is computed and frozen" if frozen else "nothing of it is computed yet"
    yield f"batch {intent.batch_id} was begun and has no outcome; {far}"
    from penstock.sinks.contract import app_id
    from penstock.sinks.delta.committer import DeltaCommitter

    having = []
    for name in patient.tables:
        sink, app = DeltaCommitter(name, patient.table_paths[name]), app_id(patient.name, ledger.generation, name)
        mark = patient.attempt(f"batches of table {name}", partial(sink.watermark, app))
        if mark is not None and mark >= intent.batch_id:
            having.append(name)
    if having:
        yield f"half of it is visible: {', '.join(having)} has it already"


@diagnosis(
    "waiting",
    Harm.STANDS,
    "the run waits for something outside: a broker, a table, a registry, room on a disk",
    explains=("stuck_batch", "retention", "behind"),
)
def waiting(patient: Patient) -> Iterator[Finding]:
    now = patient.now
    if now is None or not patient.running or not now.waiting:
        return
    since = "" if now.waiting_since is None else f"for {spoken(max(0.0, patient.at - now.waiting_since))}"
    yield Finding(
        f"{patient.name} waits: {first_line(now.waiting)}",
        (f"it waits {since}, and tries again by itself".replace("  ", " "), "nothing is lost meanwhile"),
        ("bring back what is away; the run goes on by itself",),
        weight=0.8,
    )


@diagnosis(
    "silent",
    Harm.STANDS,
    "a process holds the pipeline's lease and has told nothing for minutes: it hangs as a whole, or was stopped",
    explains=("retention", "behind", "stuck_batch"),
)
def silent(patient: Patient) -> Iterator[Finding]:
    who, now = patient.holder, patient.now
    if who is None or now is None:
        return
    poll = now.poll_seconds
    quiet = now.age(patient.at) if now.run == who.get("run") else patient.at - _since(who, patient.at)
    if quiet < max(SILENT_SECONDS, 6 * poll):
        return
    pid = who.get("pid", "PID")
    yield Finding(
        f"process {pid} holds {patient.name} and has been silent for {spoken(quiet)}",
        (
            f"it has the lease since {who.get('since', '?')}, as {who.get('user', '?')} on {who.get('host', '?')}",
            f"it should tell of itself every {spoken(poll)}",
            "no other process may run the pipeline while it has the lease",
        ),
        (f"kill -9 {pid}  (safe: nothing is lost or doubled)", command(patient, "run")),
        weight=0.7,
    )


def _since(who: dict[str, Any], unknown: float) -> float:
    """When this process took the lease."""
    try:
        return datetime.fromisoformat(str(who.get("since"))).timestamp()
    except ValueError:
        return unknown
