"""A batch that hangs, or one that does not begin: offsets are ahead of commits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.counting import spoken
from penstock.observe.alerting_known import OVERDUE
from penstock.observe.metrics_kept import FIRST_SECONDS, USUAL_BATCHES
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.words import command, when

if TYPE_CHECKING:
    from penstock.observe.now import Now
    from penstock.operate.doctor.patient import Patient


@diagnosis(
    "stuck_batch",
    Harm.STANDS,
    f"a batch takes more than {OVERDUE:g} times what is usual, or is planned for long and nobody commits it: offsets "
    "are ahead of commits",
    explains=("retention", "behind"),
)
def stuck_batch(patient: Patient) -> Iterator[Finding]:
    if patient.ours:
        yield from _stuck_of_ours(patient)
        return
    found = patient.foreign
    if found is None or not found.stuck:
        return
    usual = f"; batches take {spoken(found.usual_seconds)} as a rule" if found.usual_seconds is not None else ""
    yield Finding(
        f"batch {found.unfinished} was planned {spoken(found.unfinished_seconds)} ago and is not committed: the job "
        "hangs in it, or is dead",
        (f"offsets end at batch {found.newest}, commits at {found.committed}{usual}",),
        (
            "start the job again: it does this batch again from the same offsets",
            "if it runs: look for its slowest task in Spark's UI, and whether its sink answers",
        ),
        weight=0.8,
    )


def _stuck_of_ours(patient: Patient) -> Iterator[Finding]:
    now = patient.now
    if now is None or not patient.running or now.waiting or now.read_limit == 0:
        return
    if now.in_hand is None:
        yield from _none_begins(patient, now)
        return
    lasted, usual = max(0.0, patient.at - now.in_hand.since), _usual(patient)
    if lasted <= OVERDUE * usual:
        return
    hand = now.in_hand
    yield Finding(
        f"batch {hand.batch_id} hangs in the phase `{hand.phase}`: {spoken(lasted)} so far, "
        f"{lasted / usual:,.0f} times what is usual",
        (
            f"it is in this phase for {spoken(max(0.0, patient.at - hand.phase_since))}",
            f"the longest of the last batches took {spoken(usual)}",
            f"{_what(hand.phase)}",
        ),
        (
            f"stack of the workers: {patient.workplace}/logs/spark.out",
            f"kill -9 {now.pid}  (safe: the batch is done again, once), then  {command(patient, 'run')}",
        ),
        weight=0.8,
    )


def _none_begins(patient: Patient, now: Now) -> Iterator[Finding]:
    """Records wait, and no batch begins."""
    lag = patient.lag
    if lag is None or not lag.rows or lag.seconds is None or not patient.usual.batches:
        return
    since = max(now.last_batch.at if now.last_batch else now.started_at, patient.at - lag.seconds)
    late = patient.at - since
    if late <= OVERDUE * (_usual(patient) + patient.usual.every_seconds):
        return
    yield Finding(
        f"no batch begins: {lag.rows:,} rows wait for {spoken(late)}, and process {now.pid} does nothing about it",
        (
            f"the last batch was committed {when(patient, now.last_batch.at)}"
            if now.last_batch
            else "none was committed",
        ),
        (
            f"Spark's log: {patient.workplace}/logs/spark.log",
            f"kill -9 {now.pid}  (safe: nothing is lost or doubled), then  {command(patient, 'run')}",
        ),
        weight=0.7,
    )


def _usual(patient: Patient) -> float:
    """As the alert has it: the longest of the last batches, and not less than the target."""
    lengths = [row["longest_seconds"] for row in patient.past[-USUAL_BATCHES:]]
    if patient.now is not None and patient.now.last_batch is not None:
        lengths.append(patient.now.last_batch.seconds)  # of a run that has just begun the history has nothing yet
    return max(patient.usual.target_seconds, max(lengths, default=FIRST_SECONDS))


def _what(phase: str) -> str:
    return {
        "pass": "in `pass` records are read, decoded, checked and written to files: a step or a task hangs",
        "tables": "in `tables` files are committed to Delta tables: a table's folder or its writer does not answer",
        "topics": "in `topics` records are sent in a transaction: a broker does not answer, or is slow",
    }.get(phase, f"`{phase}` writes small files to the state: its disk does not answer")
