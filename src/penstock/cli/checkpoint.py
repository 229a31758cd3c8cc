"""penstock checkpoint: look at what a pipeline, or any Spark job, remembers of itself; repair it."""

from __future__ import annotations

import json as json_text
import uuid
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Env, File, Set, again, load, state_of
from penstock.cli.tables import aligned
from penstock.counting import size, spoken
from penstock.observe.logs import printable

if TYPE_CHECKING:
    from penstock.operate.foreign import Foreign
    from penstock.operate.tablehealth import TableHealth
    from penstock.pipeline import Pipeline

app = typer.Typer(help="Look at what a pipeline, or any Spark job, remembers; repair it.", no_args_is_help=True)


class Half(StrEnum):
    """What to do with a batch that only some sinks have."""

    skip = "skip"
    again = "again"


@app.callback()
def checkpoint() -> None:
    """Look at what a pipeline, or any Spark job, remembers; repair it."""


@app.command()
def show(
    path: Annotated[
        Path,
        typer.Argument(
            help="The checkpoint of any Structured Streaming job, the state folder of a pipeline, or a pipeline file.",
            show_default=False,
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="The Delta table that the job writes: look at it too.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show what a checkpoint says: batches planned and committed, offsets, what is damaged. Changes nothing.

    Ends with 1 if something is damaged or stuck.
    """
    from penstock.operate.foreign import look
    from penstock.operate.tablehealth import table_health

    folder = _local(load(path)) if path.is_file() else path
    found = look(folder)
    health = table_health(table, found.query_id) if table else None
    if json:
        print(json_text.dumps({**found.to_json(), **({"table": health.to_json()} if health else {})}))
    else:
        print("\n".join(as_lines(found, health)))
    raise typer.Exit(1 if found.stuck or any(finding.grave for finding in found.findings) else 0)


def _local(pipeline: Pipeline) -> Path:
    """The folder of its checkpoint. One on another file system is not read by this verb: it works without Spark."""
    from penstock.errors import SetupFailed
    from penstock.paths import is_remote

    if is_remote(pipeline.state):
        raise SetupFailed(
            f"{pipeline.name}: its state is {pipeline.state}, and this verb reads folders of this machine.",
            remedy="See how it stands:  penstock status  and  penstock audit  (or copy the checkpoint here:  "
            f"hdfs dfs -get {pipeline.state}/spark)",
        )
    return Path(pipeline.state)


@app.command()
def rebuild(
    file: File,
    env: Env = None,
    sets: Set = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")] = False,
    half: Annotated[
        Half | None,
        typer.Option(
            help="For a batch that only some sinks have and that cannot be finished. `skip`: the others never get it. "
            "`again`: it is read again, and those that have it get its rows twice.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Go on from what the sinks hold, when the state is lost, damaged or older than they are."""
    pipeline = load(file, env, sets)

    from penstock.operate.reaching import reached
    from penstock.operate.rebuild import Rebuild

    there = reached(pipeline)
    verb = Rebuild(
        pipeline.name,
        state_of(pipeline),
        there.tables,
        there.topics,
        uuid.uuid4().hex[:12],
        there.cluster.origin,
        half.value if half else None,
    )
    found = verb.look() if dry_run else verb.do()
    if json:
        print(json_text.dumps({"pipeline": pipeline.name, "dry_run": dry_run, **found.to_json()}))
        return
    for line in found.lines():
        print(f"{pipeline.name}: {line}")
    print(f"  {found.how}.")
    if dry_run:
        print(f"  Nothing was changed. Do it:  penstock checkpoint rebuild {again(file, env, sets)}")
    else:
        print(f"  Generation {found.old} is closed; generation {found.new} is open.")
        print(f"  Run it:  penstock run {again(file, env, sets)}")


def as_lines(found: Foreign, health: TableHealth | None = None) -> Iterator[str]:
    """What a checkpoint says, for a person."""
    done = "none" if found.committed is None else str(found.committed)
    ago = "" if found.last_commit_at is None else f", {spoken(found.at - found.last_commit_at)} ago"
    yield f"{printable(found.path)}: batch {done} committed{ago}; query {printable(found.query_id or 'unknown')}"
    if found.unfinished is not None:
        yield f"  batch {found.unfinished} is planned and not committed, for {spoken(found.unfinished_seconds)}"
    if found.usual_seconds is not None:
        yield f"  a batch takes {spoken(found.usual_seconds)} as a rule ({len(found.batches):,} batches are kept)"
    for place, kind in enumerate(found.kinds):
        yield f"  source {place}: {kind}"
    rows = ((f"{topic}-{part}", str(at)) for (topic, part), at in sorted(found.positions.items()))
    if found.positions:
        yield from aligned(("next offset of", "offset"), rows)
    if found.state is not None:
        state = found.state
        more = "" if state.whole else " and more"
        yield f"  state: {state.operators} operators, {state.files:,} files, {size(state.bytes)}{more}"
    if health is not None:
        yield from _table(found, health)
    for finding in found.findings:
        yield f"  {'damage' if finding.grave else 'note'}: {printable(finding.what)}"
        if finding.remedy:
            yield f"    {printable(finding.remedy)}"
    if found.positions:
        yield f"  How far behind it is:  penstock lag --checkpoint {printable(found.path)} --brokers HOST:PORT"


def _table(found: Foreign, health: TableHealth) -> Iterator[str]:
    small = f", {health.small_files:,} of them small" if health.small_files > 1 else ""
    yield (
        f"  table {printable(health.path)}: version {health.version}, {health.files:,} files of "
        f"{size(health.average_bytes)} on average{small}"
    )
    if found.query_id is not None:
        has = "no batch of this query" if health.batch_id is None else f"batch {health.batch_id} of this query"
        yield f"    it has {has}"
