"""penstock run: run a pipeline until it is done or told to stop."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Env, File, Set, again, load
from penstock.cli.stopping import stop_on_signals
from penstock.paths import is_remote

if TYPE_CHECKING:
    from penstock.engine.jvm import Jvm
    from penstock.observe.events import Emit
    from penstock.pipeline import Pipeline


def run(
    file: File,
    env: Env = None,
    sets: Set = None,
    once: Annotated[bool, typer.Option("--once", help="Read what is there now, then end.")] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Go on without records that are gone already; report them.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a line instead of text.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Lines in a terminal too, instead of the live view.")] = False,
) -> None:
    """Run a pipeline. Ctrl-C or SIGTERM finish the batch in hand and end with code 0.

    In a terminal it shows itself running; in a pipe it writes a line for each happening.
    """
    pipeline = load(file, env, sets)  # a wrong file is told before the engine is loaded
    stopping = stop_on_signals()
    with jvm_ahead(pipeline) as jvm:
        from penstock.engine.run import RunOptions
        from penstock.engine.run import run as run_pipeline
        from penstock.observe.logs import lines_to

        options = RunOptions(once=once, accept_loss=accept_loss, file=again(file, env, sets))
        lines: AbstractContextManager[Emit] = nullcontext(lines_to(sys.stdout, as_json=json))
        with lines if json or plain else shown(pipeline, stopping, once=once) as emit:
            run_pipeline(pipeline, options, emit, stopping, jvm=jvm)


@contextmanager
def jvm_ahead(pipeline: Pipeline) -> Iterator[Jvm | None]:
    """Spark's JVM, which starts while the engine is loaded and the run is checked.

    None where somebody else runs the pipeline, whose logs it would write into, or where it takes Spark to tell.
    """
    from penstock.engine.session import ahead
    from penstock.ledger.lease import holder

    if is_remote(pipeline.state) or holder(pipeline.workplace / "lease"):
        yield None
        return
    with ahead(pipeline) as jvm:
        yield jvm


@contextmanager
def shown(pipeline: Pipeline, stopping: threading.Event, *, once: bool) -> Iterator[Emit]:
    """An `emit` for people: the live view where stdout is a terminal that can show it, else lines."""
    from penstock.observe.live.facts import Facts
    from penstock.observe.live.terminal import suits
    from penstock.observe.live.view import View
    from penstock.observe.logs import lines_to

    if not suits(sys.stdout):
        yield lines_to(sys.stdout)
        return
    with View(Facts.of(pipeline, once=once), stopping, sys.stdout) as view:
        yield view.emit
