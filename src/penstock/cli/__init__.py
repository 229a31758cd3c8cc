"""The command line: one thin module a verb. Heavy imports happen inside the verbs, so that `validate` stays quick."""

from __future__ import annotations

import sys

import typer

from penstock.cli import (
    alerts,
    audit,
    checkpoint,
    demo,
    describe,
    dev,
    doctor,
    generation,
    init,
    jars,
    lag,
    plan,
    preview,
    run,
    schema,
    status,
    top,
    ui,
    validate,
    version,
)
from penstock.errors import PenstockError

app = typer.Typer(
    help="Kafka to the lakehouse on Spark, exactly once, with the operations built in.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(init.init)
app.command()(validate.validate)
app.command()(describe.describe)
app.command()(plan.plan)
app.command()(preview.preview)
app.command()(run.run)
app.command()(status.status)
app.command()(lag.lag)
app.command()(top.top)
app.command()(doctor.doctor)
app.command()(ui.ui)
app.command()(audit.audit)
app.command("new-generation")(generation.new_generation)
app.command()(demo.demo)
app.command()(jars.jars)
app.command()(version.version)
app.add_typer(alerts.app, name="alerts")
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(dev.app, name="dev")
app.add_typer(schema.app, name="schema")


def main() -> None:
    """Entry point: an error of ours is told in words and ends with its exit code."""
    try:
        app()
    except PenstockError as error:
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_code) from error
