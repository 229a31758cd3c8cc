"""penstock checkpoint: repair what a pipeline remembers of itself."""

from __future__ import annotations

import json as json_text
import uuid
from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.loading import Env, File, Set, again, load, state_of

app = typer.Typer(help="Repair what a pipeline remembers of itself.", no_args_is_help=True)


class Half(StrEnum):
    """What to do with a batch that only some sinks have."""

    skip = "skip"
    again = "again"


@app.callback()
def checkpoint() -> None:
    """Repair what a pipeline remembers of itself."""


@app.command()
def rebuild(
    file: File,
    env: Env = None,
    sets: Set = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")] = False,
    half: Annotated[
        Half | None,
        typer.Option(
            help="For a batch that only some sinks have and that cannot be finished. `skip`: the others never get it. "
            "`again`: it is read again, and those that have it get its rows twice.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Go on from what the sinks hold, when the state is lost, damaged or older than they are."""
    pipeline = load(file, env, sets)

    from penstock.operate.reaching import reached
    from penstock.operate.rebuild import Rebuild

    there = reached(pipeline)
    verb = Rebuild(
        pipeline.name,
        state_of(pipeline),
        there.tables,
        there.topics,
        uuid.uuid4().hex[:12],
        there.cluster.origin,
        half.value if half else None,
    )
    found = verb.look() if dry_run else verb.do()
    if json:
        print(json_text.dumps({"pipeline": pipeline.name, "dry_run": dry_run, **found.to_json()}))
        return
    for line in found.lines():
        print(f"{pipeline.name}: {line}")
    print(f"  {found.how}.")
    if dry_run:
        print(f"  Nothing was changed. Do it:  penstock checkpoint rebuild {again(file, env, sets)}")
    else:
        print(f"  Generation {found.old} is closed; generation {found.new} is open.")
        print(f"  Run it:  penstock run {again(file, env, sets)}")
