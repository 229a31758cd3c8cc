"""penstock run: run a pipeline until it is done or told to stop."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.loading import Env, File, Set, again, load


def run(
    file: File,
    env: Env = None,
    sets: Set = None,
    once: Annotated[bool, typer.Option("--once", help="Read what is there now, then end.")] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Go on without records that are gone already; report them.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")] = False,
) -> None:
    """Run a pipeline. Ctrl-C or SIGTERM finish the batch in hand and end with code 0."""
    pipeline = load(file, env, sets)  # a wrong file is told before the engine is loaded

    from penstock.engine.run import RunOptions
    from penstock.engine.run import run as run_pipeline
    from penstock.observe.logs import lines_to, to_all
    from penstock.observe.status import progress_to

    stopping = stop_on_signals()
    emit = to_all(lines_to(sys.stdout, as_json=json), progress_to(Path(pipeline.state)))
    run_pipeline(pipeline, RunOptions(once=once, accept_loss=accept_loss, file=again(file, env, sets)), emit, stopping)


def stop_on_signals() -> threading.Event:
    """An event that SIGTERM and Ctrl-C set."""
    stopping = threading.Event()

    def ask(_number: int, _frame: object) -> None:
        stopping.set()

    signal.signal(signal.SIGTERM, ask)
    signal.signal(signal.SIGINT, ask)
    return stopping
