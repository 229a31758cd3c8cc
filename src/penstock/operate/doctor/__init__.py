"""The doctor: what is wrong with a pipeline, or with any Spark job, the cause first, and what mends it.

patient.py      what can be read, each part once: kept.py (on disk), and outside of it, by reach.py and tables.py
course.py       how batches went lately; growth.py: whether it falls behind
admission.py    how a patient comes in: by a file, a state folder, a checkpoint
finding.py      what a diagnosis is, and in which order findings are told
running.py      does it run: failed, killed, waiting, silent; stuck.py: a batch that hangs
checkpoint.py   damaged files, ledger and tables that disagree
losses.py       records that are lost, or about to be
partitions.py   hot partitions, bursts, nobody who reads; clocks.py: wrong dates
broker.py       brokers, logins, topics, permissions, the group
machine.py      disks, jars, Java
pace.py         falling behind; batches that are too many
settings.py     topics and brokers that do not fit
table.py        small files, long logs, properties
rejects.py      rejected and parked records
raised.py       alerts that nothing else speaks of
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.operate.doctor import (
    broker,
    checkpoint,
    clocks,
    losses,
    machine,
    pace,
    partitions,
    raised,
    rejects,
    running,
    settings,
    stuck,
    table,
)
from penstock.operate.doctor.finding import DIAGNOSES, Diagnosis, Finding, Harm, ranked
from penstock.operate.doctor.patient import Patient

__all__ = ["DIAGNOSES", "Diagnosis", "Finding", "Harm", "Patient", "Report", "diagnose", "ranked"]
FAMILIES = (
    running, stuck, checkpoint, losses, partitions, clocks, broker, machine, pace, settings, table, rejects, raised,
)  # fmt: skip
"""The files whose diagnoses are looked for."""
FOUND = 5
"""The exit code where something was found."""


@dataclass(frozen=True)
class Report:
    """What was found, the cause first; what was looked at, and what could not be."""

    name: str
    findings: tuple[Finding, ...]
    seen: tuple[str, ...]
    unseen: dict[str, str]

    @property
    def exit_code(self) -> int:
        return FOUND if self.findings else 0

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "healthy": not self.findings,
            "cause": self.findings[0].cause if self.findings else None,
            "findings": [found.to_json() for found in self.findings],
            "seen": list(self.seen),
            "unseen": self.unseen,
        }


def diagnose(patient: Patient) -> Report:
    """Look for everything. Nothing is written; a diagnosis that cannot be made is named among what was not seen."""
    found: list[Finding] = []
    for each in DIAGNOSES:
        try:
            found += each.of(patient)
        except Exception as error:  # the doctor is called when things are broken: it must not be one more that is
            patient.unseen[f"diagnosis {each.code}"] = f"{type(error).__name__}: {error}"
    codes = {each.code for each in found}
    told = [each for each in found if codes.isdisjoint(each.unless)]
    return Report(patient.name, tuple(ranked(told)), tuple(patient.seen), dict(patient.unseen))
