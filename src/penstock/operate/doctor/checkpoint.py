"""Checkpoint and ledger: damaged files, logs that disagree, a table that is ahead of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.errors import Refused, SinkRefused, Unavailable
from penstock.operate.doctor.finding import Finding, Harm, diagnosis
from penstock.operate.doctor.kept import STRANGE
from penstock.operate.doctor.words import command
from penstock.paths import is_catalog_name

if TYPE_CHECKING:
    from penstock.operate.doctor.patient import Patient
    from penstock.sinks.contract import Watermarked


@diagnosis(
    "damaged_checkpoint",
    Harm.LOSS,
    "a file of the checkpoint is cut, empty, edited or gone, or a commit is missing: Spark will not start, or "
    "start wrongly",
    explains=("run_failed", "stuck_batch", "behind", "records_gone"),
)
def damaged_checkpoint(patient: Patient) -> Iterator[Finding]:
    found, why = patient.foreign, patient.unseen.get("checkpoint")
    if found is None and why is not None:
        where = patient.checkpoint or patient.state
        yield Finding(f"the checkpoint cannot be read: {why}", (f"{where}",), (f"ls -lR {where}",), weight=0.9)
    if patient.ours or found is None:
        return  # of ours the preflight knows more: see `refused`
    for each in found.findings:
        if each.code == "stuck_batch":
            continue
        at = f"offsets end at batch {found.newest}, commits at {found.committed}"
        yield Finding(
            f"the checkpoint is damaged: {each.what}",
            (f"checkpoint {found.path}", at),
            (each.remedy,) if each.remedy else (),
            weight=1.0 if each.grave else 0.3,
            harm=Harm.LOSS if each.grave else Harm.WRONG,
        )


@diagnosis(
    "damaged_ledger",
    Harm.LOSS,
    "a file of the ledger cannot be read, or holds something else than penstock writes",
    explains=("run_failed", "killed", "behind"),
)
def damaged_ledger(patient: Patient) -> Iterator[Finding]:
    _ = patient.ledger, patient.generation, patient.last, patient.unfinished  # looks at them
    for part in ("ledger", "generation", "outcomes", "intents", "manifest"):
        why = patient.unseen.get(part)
        if why is not None:
            yield Finding(
                f"the ledger is damaged ({part}): {why}",
                (f"the state is {patient.state}", "penstock writes these files whole, once, and never changes them"),
                (
                    "restore the state folder as a whole, from one moment",
                    f"or go on from what the sinks hold:  {command(patient, 'checkpoint rebuild')}",
                ),
                weight=0.97,
            )


@diagnosis(
    "table_ahead",
    Harm.LOSS,
    "the table has batches of the query that the checkpoint does not know: the next ones would be skipped without a "
    "word",
)
def table_ahead(patient: Patient) -> Iterator[Finding]:
    found = patient.foreign
    if patient.ours or found is None:
        return
    for table in patient.tables.values():
        has = table.health.batch_id
        if has is not None and (found.newest is None or has > found.newest):
            yield Finding(
                f"the table is ahead of the checkpoint: it has batch {has} of this query, and the checkpoint ends at "
                f"batch {found.newest}",
                (
                    f"table {table.health.path}, version {table.health.version}, query {found.query_id}",
                    f"Delta takes the next batches up to {has} for done, and skips their rows",
                ),
                ("restore the newest checkpoint; or start with a new one from the table's offsets (txnAppId changes)",),
                weight=0.9,
            )


@diagnosis(
    "refused",
    Harm.LOSS,
    "ledger, checkpoint and tables do not agree, so that the next run would be refused",
    explains=("run_failed", "killed", "behind"),
)
def refused(patient: Patient) -> Iterator[Finding]:
    """What the preflight of a run would say, but for the clusters that are written to: asking them is no mere look."""
    from penstock.ledger.preflight import Preflight

    if not patient.ours or patient.state is None or patient.running:
        return
    sinks = _tables(patient)
    try:
        Preflight(patient.name, patient.state, sinks, patient.file or "FILE").check()
    except Unavailable as error:
        patient.unseen["preflight"] = error.what
    except Refused as error:
        remedies, same = [line.strip() for line in error.remedy.splitlines()], ("damaged_ledger",)
        yield Finding(error.what, (error.data,) if error.data else (), tuple(remedies), weight=0.98, unless=same)
    except STRANGE as error:
        patient.unseen["preflight"] = f"{type(error).__name__}: {error}"  # what is damaged has a diagnosis of its own


def _tables(patient: Patient) -> dict[str, Watermarked]:
    """The tables that are folders of this machine; where a catalog's are, only Spark knows."""
    from penstock.sinks.delta.committer import DeltaCommitter

    if patient.pipeline is None:
        return {}
    paths = {name: path for name, path in patient.table_paths.items() if not is_catalog_name(path)}
    found: dict[str, Watermarked] = {}
    for name, path in paths.items():
        sink = DeltaCommitter(name, path)
        try:
            sink.watermark("")
        except (SinkRefused, Unavailable, *STRANGE) as error:  # a table for Spark alone, or one that cannot be read
            patient.unseen[f"batches of table {name}"] = str(error).splitlines()[0]
        else:
            found[name] = sink
    return found
