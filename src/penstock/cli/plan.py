"""penstock plan: what a pipeline would do, before it does anything."""

from __future__ import annotations

import json as jsons
from typing import Annotated

import typer

from penstock.cli.loading import Env, File, Set, load, say_spark_starts


def plan(
    file: File,
    env: Env = None,
    sets: Set = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no broker.")] = False,
    json: Annotated[bool, typer.Option("--json", help="The plan as JSON.")] = False,
) -> None:
    """Show the stages, the sinks, and what the next batch would read. Nothing is written."""
    pipeline = load(file, env, sets)

    from penstock.operate.looking import Look
    from penstock.operate.reaching import bootstrap_of

    found = Look(pipeline, None if offline else bootstrap_of(pipeline), on_start=say_spark_starts).outline()
    if json:
        print(jsons.dumps(found.to_json(), indent=2))
    else:
        print(found)
