"""How a patient comes in: by its pipeline file, by its state folder alone, or by the checkpoint of any job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import Refused
from penstock.ledger.ledger import generations
from penstock.operate.doctor.patient import Patient
from penstock.operate.reaching import bootstrap_of
from penstock.paths import is_catalog_name, is_remote
from penstock.worker.desk import DEAD_LETTERS

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline


def of_pipeline(pipeline: Pipeline, file: str = "") -> Patient:
    """A pipeline by its file. Of a state elsewhere only what lies on this machine is looked at: that needs no JVM."""
    remote = is_remote(pipeline.state)
    made = Patient(
        name=pipeline.name,
        file=file,
        pipeline=pipeline,
        state=None if remote else Path(pipeline.state),
        workplace=pipeline.workplace,
        brokers=lambda: bootstrap_of(pipeline),
        table_paths=_tables(pipeline),
    )
    if remote:
        made.unseen["ledger and checkpoint"] = f"they are on {pipeline.state}, which only Spark can reach"
    for name, path in _named(pipeline).items():
        made.unseen[f"table {name}"] = f"{path} is a table of a catalog, and only Spark knows where it is"
    return made


def of_state(state: Path, brokers: str | None = None, tables: Sequence[str] = ()) -> Patient:
    """A pipeline by its state folder. Where its tables are, its ledger says. Refused if it is no such folder."""
    known = generations(state)
    if not known and not (state / "progress").is_dir():
        raise Refused(
            f"{state}: this is no state folder of a pipeline: neither `ledger` nor `progress` is in it.",
            data="Nothing was read or changed.",
            remedy="Of a checkpoint of any Spark job:  penstock doctor --checkpoint PATH",
        )
    made = Patient(name=state.name, state=state, workplace=state, brokers=_given(brokers), table_paths=_paths(tables))
    body = made.generation or {}  # where it is damaged, that is a diagnosis
    told = _told(body.get("sinks"))
    return replace(made, name=str(body.get("pipeline") or state.name), table_paths=made.table_paths or told)


def of_checkpoint(
    checkpoint: Path, brokers: str | None = None, tables: Sequence[str] = (), *, committed: bool = False
) -> Patient:
    """Any job by its checkpoint. A state folder of ours is looked at as one. Refused if there is no checkpoint."""
    if (checkpoint / "ledger").is_dir() and (checkpoint / "spark").is_dir():
        return of_state(checkpoint, brokers, tables)
    from penstock.operate.foreign import look

    with suppress(OSError):  # one that may not be read is a diagnosis
        look(checkpoint)  # refuses what is no checkpoint
    return Patient(
        name=str(checkpoint),
        checkpoint=checkpoint,
        brokers=_given(brokers),
        table_paths=_paths(tables),
        committed_only=committed,
    )


def _given(brokers: str | None) -> Callable[[], str] | None:
    return None if brokers is None else lambda: brokers


def _paths(tables: Sequence[str]) -> dict[str, str]:
    return {Path(path).name or path: path for path in tables}


def _tables(pipeline: Pipeline) -> dict[str, str]:
    """Tables that are folders, dead letters too."""
    own = {name: sink.to.table for name, sink in pipeline.sinks.items() if hasattr(sink.to, "table")}
    letters = {DEAD_LETTERS: pipeline.dead_letters.delta} if pipeline.dead_letters.delta else {}
    return {name: path for name, path in {**own, **letters}.items() if not is_catalog_name(path)}


def _named(pipeline: Pipeline) -> dict[str, str]:
    own = {name: sink.to.table for name, sink in pipeline.sinks.items() if hasattr(sink.to, "table")}
    return {name: path for name, path in own.items() if is_catalog_name(path)}


def _told(sinks: Any) -> dict[str, str]:
    """Where the ledger says that the tables are."""
    found = {name: about.get("target") for name, about in (sinks or {}).items() if isinstance(about, dict)}
    return {name: str(path) for name, path in found.items() if path and str(path).startswith("/")}
