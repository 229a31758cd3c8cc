"""The doctor: what is wrong with a pipeline, or with any Spark job, the cause first, and what mends it.

patient.py      what can be read, each part once; reach.py, course.py, tables.py: parts of it
finding.py      what a diagnosis is, and in which order findings are told
running.py      does it run: failed, killed, waiting, silent, stuck
partitions.py   lost records, retention, hot partitions, clocks
checkpoint.py   damaged files, ledger and tables that disagree
broker.py       brokers, logins, topics, permissions, the group
machine.py      disks, jars, Java
pace.py         falling behind; batches that are too many
settings.py     topics and brokers that do not fit
table.py        small files, long logs, properties
rejects.py      rejected and parked records
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.operate.doctor import (
    broker,
    checkpoint,
    machine,
    pace,
    partitions,
    rejects,
    running,
    settings,
    table,
)
from penstock.operate.doctor.finding import DIAGNOSES, Diagnosis, Finding, Harm, ranked
from penstock.operate.doctor.patient import Patient

__all__ = ["DIAGNOSES", "Diagnosis", "Finding", "Harm", "Patient", "Report", "diagnose", "ranked"]
FAMILIES = (running, checkpoint, partitions, broker, machine, pace, settings, table, rejects)
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
