"""Commands and edits as the doctor writes them."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING

from penstock.counting import spoken

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient


def command(patient: Patient, verb: str, *more: str) -> str:
    """`penstock run orders.yaml`. Where only the state is known, the file's name is left to the reader."""
    return " ".join(["penstock", verb, patient.file or "FILE", *more])


def edit(patient: Patient, text: str) -> str:
    """A change of the pipeline file."""
    return f"in {patient.file or 'the pipeline file'}:  {text}"


def set_topic(patient: Patient, topic: str, setting: str) -> str:
    """Changes a topic's setting by Kafka's own tool."""
    where = patient.reach.bootstrap if patient.reach else "HOST:PORT"
    return (
        f"kafka-configs --bootstrap-server {where} --alter --entity-type topics --entity-name {topic} "
        f"--add-config {setting}"
    )


def optimize(path: str) -> str:
    """Compacts a table, without Spark."""
    return _python(f"from deltalake import DeltaTable; print(DeltaTable({path!r}).optimize.compact())")


def vacuum(path: str) -> str:
    return _python(f"from deltalake import DeltaTable; print(len(DeltaTable({path!r}).vacuum(dry_run=False)))")


def checkpointed(path: str) -> str:
    return _python(f"from deltalake import DeltaTable; DeltaTable({path!r}).create_checkpoint()")


def _python(code: str) -> str:
    """By the very Python that runs the doctor: it has what is needed."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


def when(patient: Patient, at: float) -> str:
    """A moment of the past: `2026-11-15 23:01 UTC, 12 min ago`."""
    told = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
    return f"{told}, {spoken(max(0.0, patient.at - at))} ago"


def first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else ""
