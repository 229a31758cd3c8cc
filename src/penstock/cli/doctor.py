"""penstock doctor: what is wrong, the cause first, with evidence and what mends it."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Brokers, Checkpoint, Committed, Env, FileOrNone, Set, again, load
from penstock.observe.logs import printable

if TYPE_CHECKING:
    from penstock.operate.doctor import Finding, Patient, Report


def doctor(
    file: FileOrNone = None,
    env: Env = None,
    sets: Set = None,
    state: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Instead of a file: the state folder of a pipeline.", show_default=False),
    ] = None,
    checkpoint: Checkpoint = None,
    brokers: Brokers = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table",
            metavar="PATH",
            help="With --state, --checkpoint: a Delta table that it writes.",
            show_default=False,
        ),
    ] = None,
    committed: Committed = False,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Say what is wrong with a pipeline, or with any Spark job, and what mends it. Changes nothing, starts no JVM.

    Ends with 0 if nothing was found, with 5 if something was.
    """
    from penstock.operate.doctor import diagnose
    from penstock.operate.doctor.admission import of_checkpoint, of_pipeline, of_state

    if sum(each is not None for each in (file, state, checkpoint)) != 1:
        raise typer.BadParameter(
            "needs a pipeline file, --state DIR or --checkpoint PATH; one of them.", param_hint="FILE"
        )
    if file is not None and (brokers or tables or committed):
        raise typer.BadParameter(
            "goes with --state or --checkpoint only: a pipeline file says it.", param_hint="--brokers"
        )
    patient: Patient
    if file is not None:
        patient = of_pipeline(load(file, env, sets), again(file, env, sets))
    elif state is not None:
        patient = of_state(state, brokers, tables or [])
    else:
        assert checkpoint is not None
        patient = of_checkpoint(checkpoint, brokers, tables or [], committed=committed)
    found = diagnose(patient)
    print(json_text.dumps(found.to_json()) if json else "\n".join(as_lines(found)))
    raise typer.Exit(found.exit_code)


def as_lines(found: Report) -> Iterator[str]:
    """The report for a person: the cause, its evidence, what mends it; then the next; then what was looked at."""
    for place, each in enumerate(found.findings):
        if place:
            yield ""
        yield from _finding(each)
    if not found.findings:
        yield f"{printable(found.name)}: nothing found"
    else:
        yield ""
    yield f"  looked at: {', '.join(map(printable, found.seen)) or 'nothing'}"
    for what, why in found.unseen.items():
        yield f"  not looked at: {printable(what)}: {printable(why)}"


def _finding(found: Finding) -> Iterator[str]:
    yield f"{printable(found.cause)}  [{found.code}]"
    for line in found.evidence:
        yield f"  {printable(line)}"
    for line in found.mend:
        yield f"  mend: {printable(line)}"
