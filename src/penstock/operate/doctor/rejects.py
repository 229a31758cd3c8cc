"""Records that are rejected: many of them, or parked because of their schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.counting import counted
from penstock.observe.alerting_known import REJECT_SHARE
from penstock.observe.metrics_kept import REJECTS_THAT_COUNT
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.words import command, when

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient

PARKED = "schema_parked"
HINTS = {
    "invalid_json": "producers send something that is no JSON:  ",
    "missing_field": "a field that the schema calls NOT NULL is missing:  ",
    "unknown_schema": "the registry does not know the schema of the records:  ",
    "too_large": "records are larger than decode.*.max_bytes allows:  ",
}


@diagnosis("schema_parked", Harm.WRONG, "records wait among the dead letters until somebody decides on their schema",
           explains=("reject_rate",))  # fmt: skip
def schema_parked(patient: Patient) -> Iterator[Finding]:
    course = patient.course
    parked = (course.rejected if course else {}).get(PARKED, 0)
    if course is None or not parked:
        return
    yield Finding(
        f"{counted(parked, 'record')} lately came with a schema that `schema_changes` parks",
        (f"they are {parked / max(1, course.rows):.1%} of what was read up to {when(patient, course.until)}",),
        (f"see the change:  {command(patient, 'schema list')}", command(patient, "schema adopt")),
        weight=0.8,
    )


@diagnosis("reject_rate", Harm.WRONG, f"more than {REJECT_SHARE:.0%} of the records of the last hour were rejected")
def reject_rate(patient: Patient) -> Iterator[Finding]:
    course = patient.course
    if course is None or not course.rejected or not course.rows:
        return
    total = sum(course.rejected.values())
    share = total / course.rows
    if total < REJECTS_THAT_COUNT or share <= REJECT_SHARE:
        return
    codes = sorted(course.rejected.items(), key=lambda each: -each[1])
    lead, count = codes[0]
    yield Finding(
        f"{share:.0%} of the records are rejected, most of them as {lead} ({count:,} of {total:,})",
        (
            f"of {course.rows:,} records up to {when(patient, course.until)}",
            "by code: " + ", ".join(f"{code} {number:,}" for code, number in codes[:5]),
        ),
        (
            HINTS.get(lead, "see the records and why:  ") + _letters(patient),
            f"what becomes of the newest records:  {command(patient, 'preview')}",
        ),
        weight=0.85,
    )


def _letters(patient: Patient) -> str:
    if patient.pipeline is None:
        return f"{patient.workplace}/dead_letters"
    letters = patient.pipeline.dead_letters
    return letters.delta or f"topic {letters.kafka.topic if letters.kafka else ''}"
