"""penstock new-generation: start afresh and keep tables and topics."""

from __future__ import annotations

import uuid
from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.loading import Env, File, Set, again, load, state_of


class From(StrEnum):
    """Where the new generation begins."""

    last = "last"
    source = "source"


def new_generation(
    file: File,
    env: Env = None,
    sets: Set = None,
    begin: Annotated[
        From,
        typer.Option(
            "--from",
            help="`last`: after the last batch that the ledger knows to be done. `source`: where the file's "
            "`start` says; rows that are read again will be in the tables twice.",
        ),
    ] = From.last,
) -> None:
    """Close the present generation in every sink and open the next: its batches start at 0 under new keys."""
    pipeline = load(file, env, sets)

    from penstock.operate.generation import new_generation as open_next
    from penstock.operate.reaching import reached

    there, run = reached(pipeline), uuid.uuid4().hex[:12]
    opened = open_next(pipeline.name, state_of(pipeline), there.sinks, begin.value, run, there.cluster.origin)
    where = "goes on after the last finished batch" if opened.start is not None else "begins where `start` says"
    print(f"{pipeline.name}: generation {opened.old} is closed. Generation {opened.new} {where}.")
    print(f"  Run it:  penstock run {again(file, env, sets)}")
