"""The command line: one thin module a verb, of the verb's name. Only the verb that was typed is imported and built.

Heavy imports happen inside the verbs, so that `validate` stays quick.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module

import typer

from penstock.errors import PenstockError

VERBS = (
    "init",
    "validate",
    "describe",
    "plan",
    "preview",
    "run",
    "status",
    "lag",
    "top",
    "doctor",
    "ui",
    "audit",
    "new-generation",
    "demo",
    "jars",
    "version",
    "alerts",
    "checkpoint",
    "dev",
    "schema",
)
"""In the order of `--help`."""


def built(verbs: Iterable[str] = VERBS) -> typer.Typer:
    """The command line with these verbs. A module that has an `app` of its own is a verb with verbs below it."""
    app = typer.Typer(
        help="Kafka to the lakehouse on Spark, exactly once, with the operations built in.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(lambda: None)  # else a single verb would be taken for the whole program
    for verb in verbs:
        name = verb.replace("-", "_")
        module = import_module(f"penstock.cli.{name}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=verb)
        else:
            app.command(verb)(getattr(module, name))
    return app


def main() -> None:
    """Entry point: an error of ours is told in words and ends with its exit code."""
    typed = [verb for verb in sys.argv[1:2] if verb in VERBS]
    try:
        built(typed or VERBS)()
    except PenstockError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from error
