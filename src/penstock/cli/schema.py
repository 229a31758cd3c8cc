"""penstock schema: what the registry has, what a new schema would do, and fields that nobody declared."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Env, File, Set, again, load, state_of

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline
    from penstock.schemas.contract import Schema
    from penstock.schemas.keeper import Keeper

app = typer.Typer(help="Look at schemas, and at what a new one would do.", no_args_is_help=True)
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.callback()
def schema() -> None:
    """Look at schemas, and at what a new one would do."""


@app.command("list")
def list_(file: File, env: Env = None, sets: Set = None, json: Json = False) -> None:
    """List the subjects of the registry with their versions and ids, and those that the pipeline reads."""
    pipeline = load(file, env, sets)
    keeper = keeper_of(pipeline)
    reads = {subject: schema.id for subject, schema in keeper.reader.readers.items()}
    known = {}
    for subject in keeper.registry.subjects():
        known[subject] = {
            number: keeper.registry.version(subject, number).id for number in keeper.registry.versions(subject)
        }
    if json:
        told = {"subjects": known, "reads": reads, "revisions": keeper.shelf.history()}
        print(json_text.dumps(told, indent=1))
        return
    for subject, versions in known.items():
        listed = ", ".join(f"{number} (id {one})" for number, one in versions.items())
        mark = f"   <- columns as of id {reads[subject]}" if subject in reads else ""
        print(f"{subject}: versions {listed}{mark}")
    for body in keeper.shelf.history():
        print(f"revision {body['revision']} of the columns, {body['at']}: {_news(body['news'])}")


def _news(news: list[dict[str, object]]) -> str:
    told = [f"schema {each['after']} of {each['subject']}: {each['action']}" for each in news]
    return "; ".join(told) or "the first"


@app.command()
def show(
    file: File,
    which: Annotated[str, typer.Argument(metavar="ID|SUBJECT[@VERSION]", help="Which schema.", show_default=False)],
    env: Env = None,
    sets: Set = None,
) -> None:
    """Show a schema: its text, and the columns that it gives."""
    pipeline = load(file, env, sets)
    keeper = keeper_of(pipeline)
    found = named(keeper, which)

    from penstock.formats.types import to_ddl

    print(found.text)
    print(f"\n-- id {found.id}, {found.format}, as columns:")
    print(to_ddl(keeper.codec.fields(found)).replace(", `", ",\n`"))


@app.command()
def diff(
    file: File,
    before: Annotated[str, typer.Argument(metavar="BEFORE", help="ID or SUBJECT@VERSION.", show_default=False)],
    after: Annotated[str, typer.Argument(metavar="AFTER", help="ID or SUBJECT@VERSION.", show_default=False)],
    env: Env = None,
    sets: Set = None,
    json: Json = False,
) -> None:
    """Show how two schemas differ, and what the pipeline's policy says to each change."""
    pipeline = load(file, env, sets)
    keeper = keeper_of(pipeline)

    from penstock.schemas.policy import spoken

    changes = keeper.codec.changes(named(keeper, before), named(keeper, after))
    said = [(change, getattr(pipeline.schema_changes, change.kind)) for change in changes]
    if json:
        print(json_text.dumps([{**change.__dict__, "action": action} for change, action in said], indent=1))
        return
    for change, action in said:
        print(f"{change.kind:<13} {action:<7} {spoken(change)}")
    if not said:
        print("No field changes.")


@app.command()
def check(
    new: Annotated[Path, typer.Argument(help="The new schema: .avsc, .proto or .json.", show_default=False)],
    pipeline: Annotated[
        list[Path], typer.Option("--pipeline", metavar="FILE", help="A pipeline that reads it. Repeatable.")
    ],
    subject: Annotated[
        str | None, typer.Option(help="The subject it is for; else every subject of the pipeline.", show_default=False)
    ] = None,
    current: Annotated[
        Path | None,
        typer.Option(
            help="Compare with this schema instead of what the state or the registry has.", show_default=False
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the report here as Markdown.", show_default=False)
    ] = None,
    env: Env = None,
    sets: Set = None,
    json: Json = False,
) -> None:
    """Say what a new schema would do to pipelines: for producers' CI. Nothing is registered, nothing is written.

    Ends with 0 if every pipeline would read its records, with 1 if records would be parked, a pipeline would stop, or
    the registry itself would refuse it.
    """
    from penstock.operate.schema_check import Finding, checked, markdown, schema_in

    made = schema_in(new)
    old = None if current is None else schema_in(current)
    findings: list[Finding] = []
    for file in pipeline:
        one = load(file, env, sets)
        findings += checked(made, one, keeper_of(one, old), str(file), subject, old)
    text = markdown(new.name, findings)
    if report is not None:
        report.write_text(text, encoding="utf-8")
    if json:
        told = [
            {
                "pipeline": one.pipeline,
                "file": one.file,
                "subject": one.subject,
                "verdict": one.verdict,
                "fine": one.fine,
                "registry": one.registry,
                "columns": one.columns,
                "changes": [{**t.change.__dict__, "action": t.action, "named_by": t.places} for t in one.touched],
            }
            for one in findings
        ]
        print(json_text.dumps(told, indent=1))
    else:
        print(text, end="")
    if not all(one.fine for one in findings):
        raise typer.Exit(1)


@app.command()
def adopt(
    file: File,
    count: Annotated[int, typer.Option("--records", help="How many of the newest records to look at.")] = 1000,
    write: Annotated[bool, typer.Option("--write", help="Put them into the pipeline file.")] = False,
    env: Env = None,
    sets: Set = None,
    json: Json = False,
) -> None:
    """Show the top-level fields that a declared JSON schema does not name, with types and examples; adopt them."""
    from penstock.authoring.adopt import adopted, undeclared
    from penstock.operate.reaching import reached
    from penstock.sources.peek import peek

    pipeline = load(file, env, sets)
    cluster = reached(pipeline).cluster
    found = undeclared(pipeline, peek(cluster, cluster.read_by(pipeline.source), count)["value"].to_pylist())
    if json:
        print(json_text.dumps([one.__dict__ for one in found.fields], indent=1))
    else:
        print(f"{found.records} records looked at; {len(found.fields)} fields are not in `decode.json.schema`.")
        for one in found.fields:
            print(f"  {one.ddl:<40} in {one.seen} records, such as {one.example}")
    if not found.typed:
        return
    if write:
        file.write_text(adopted(file, pipeline, found), encoding="utf-8")
        print(f"{file}: {len(found.typed)} columns more. Tables gain them with the first batch that is run with it.")
    elif not json:
        print(f"Adopt them:  penstock schema adopt {again(file, env, sets)} --write")


def keeper_of(pipeline: Pipeline, current: Schema | None = None) -> Keeper:
    """What the pipeline knows of its schemas, without a trace. `current` stands in for a registry."""
    from penstock.engine.schemas import looking_keeper, topics_of
    from penstock.errors import SchemaRefused
    from penstock.schemas.contract import Reader

    keeper = looking_keeper(pipeline, lambda: state_of(pipeline))
    if keeper is None:
        raise SchemaRefused(
            f"{pipeline.name}: its format has no registry.",
            remedy="For a declared JSON schema see  penstock schema adopt",
        )
    if current is not None:
        subject = pipeline.decode.subject_of(next(iter(topics_of(pipeline, None)), "topic"), keeper.codec.name(current))
        keeper.reader = Reader(keeper.codec.fields(current), {subject: current})
        return keeper
    keeper.open(topics_of(pipeline, None))
    return keeper


def named(keeper: Keeper, which: str) -> Schema:
    """The schema that a person means: an id, a subject's newest, or one of its versions."""
    from penstock.errors import SchemaRefused

    try:
        if which.isdecimal():
            return keeper.registry.by_id(int(which))
        subject, at, version = which.rpartition("@")
        if at and version.isdecimal():
            return keeper.registry.version(subject, int(version))
        return keeper.registry.latest(which)[1]
    except LookupError as error:
        raise SchemaRefused(f"{error}.", remedy="See what there is:  penstock schema list") from error
