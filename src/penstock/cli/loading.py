"""What is looked at: FILE, `--env` and `--set`, or the checkpoint of any job; the same for every verb that takes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from penstock.files import Place
    from penstock.pipeline import Pipeline

File = Annotated[Path, typer.Argument(help="The pipeline file.", show_default=False)]
Env = Annotated[
    str | None,
    typer.Option("--env", metavar="NAME", help="Lay this environment of the file over its `vars`.", show_default=False),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Give a variable of the file this value. Repeatable.", show_default=False
    ),
]

FileOrNone = Annotated[Path | None, typer.Argument(help="The pipeline file.", show_default=False)]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Instead of a file: the checkpoint of any Structured Streaming job. It is only read.",
        show_default=False,
    ),
]
Brokers = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Without a file: the job's brokers.", show_default=False)
]
Committed = Annotated[
    bool, typer.Option("--committed", help="With --checkpoint: the job has isolation.level=read_committed.")
]


def load(file: Path, env: str | None = None, sets: list[str] | None = None) -> Pipeline:
    """The pipeline of this file. Raises InvalidPipeline with every problem of it."""
    from penstock.spec import load_pipeline

    return load_pipeline(file, env, values(sets))


def state_of(pipeline: Pipeline) -> Place:
    """Where its state is. One on another file system is reached through Spark's JVM, which takes some seconds."""
    from penstock.paths import is_remote

    if not is_remote(pipeline.state):
        return Path(pipeline.state)
    from penstock.engine.state import place_of

    say_spark_starts()
    return place_of(pipeline)


def values(sets: list[str] | None) -> dict[str, str]:
    """`["brokers=kafka:9092"]` as a map; a name that is given twice has its last value."""
    made = {}
    for each in sets or ():
        name, equals, value = each.partition("=")
        if not name or not equals:
            # what was given is not repeated: it may be a secret
            raise typer.BadParameter("needs a name, `=` and a value: --set brokers=kafka:9092", param_hint="--set")
        made[name] = value
    return made


def again(file: Path, env: str | None = None, sets: list[str] | None = None) -> str:
    """How this file is named in a command that we propose: `orders.yaml --env prod --set brokers=...`."""
    given = [f"--set {name}=..." for name in values(sets)]  # the value may be a secret
    return " ".join([str(file), *([f"--env {env}"] if env else []), *given])


def say_spark_starts() -> None:
    """For a person who waits."""
    print("Starting Spark, which takes some seconds ...", file=sys.stderr, flush=True)
