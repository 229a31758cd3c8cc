"""penstock demo: real events through a real broker into a table, through a kill -9, counted by somebody else."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

INTERRUPTED = 130


def demo(
    folder: Annotated[Path, typer.Option(help="Where the demo keeps everything.")] = Path("penstock-demo"),
    events: Annotated[int, typer.Option(min=1000, help="How many events.")] = 200_000,
    seconds: Annotated[float, typer.Option(min=1, help="How long they take to be produced.")] = 40,
) -> None:
    """Watch real events flow from Kafka into a Delta table, through a kill -9. Needs nothing but this."""
    from penstock.dev.demo import demo as run_demo

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # both tidy up on their way out
    try:
        right = run_demo(folder, events, seconds)
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: nothing of the demo runs any more. What it made is in {folder}.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    raise typer.Exit(0 if right else 1)
