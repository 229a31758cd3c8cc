"""penstock alerts: what a pipeline alerts of, and whether those who are to be told can be."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.loading import Env, File, Set, load

app = typer.Typer(help="Alerts: list them, or send a test to every notifier.", no_args_is_help=True)


@app.command("list")
def list_(
    file: File,
    env: Env = None,
    sets: Set = None,
    json: Annotated[bool, typer.Option("--json", help="As one JSON list.")] = False,
) -> None:
    """List the alerts of a pipeline, built-in ones and its own, as the file leaves them."""
    import json as jsons

    from penstock.observe.alerts import rules_of

    rules = rules_of(load(file, env, sets).alerts)
    if json:
        keys = ("name", "when", "for_seconds", "cause", "next_step", "notify")
        print(jsons.dumps([{key: getattr(rule, key) for key in keys} for rule in rules], indent=2))
        return
    width = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        held = f" for {rule.for_seconds:g} s" if rule.for_seconds else ""
        print(f"{rule.name:<{width}}  {rule.when}{held}")


@app.command("test")
def try_(file: File, env: Env = None, sets: Set = None) -> None:
    """Send one test alert to every notifier of a pipeline, and say what each answered. Ends with 1 if one failed."""
    from penstock.alarms import ToCommand, ToWebhook
    from penstock.observe.alerts import body_of, example
    from penstock.observe.logs import printable, say
    from penstock.observe.notify import NotTold, notifier_of

    pipeline = load(file, env, sets)
    event, failed = example(pipeline.name), False
    print(f"log: {printable(say(event))}")
    for name, options in pipeline.notify.items():
        if not isinstance(options, ToWebhook | ToCommand):
            continue
        try:
            print(f"{name}: {printable(notifier_of(options, pipeline.folder).tell(body_of(event)))}")
        except NotTold as error:
            failed = True
            print(f"{name}: NOT TOLD: {printable(str(error))}")
    if not pipeline.notify:
        print("There is no notifier in the file: alerts go to the log alone. See  penstock describe notify")
    raise typer.Exit(1 if failed else 0)
