"""penstock init: propose a pipeline file from what a topic holds."""

from __future__ import annotations

import difflib
import json as jsons
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.errors import PenstockError, Unavailable

if TYPE_CHECKING:
    from penstock.authoring.request import Request
    from penstock.authoring.sample import Sample
    from penstock.authoring.topic import Progress
    from penstock.sources.cluster import Cluster

STDIN = "-"


def init(
    brokers: Annotated[
        str, typer.Option(help="host:port, several with commas; or `dev`, the embedded broker.", show_default=False)
    ] = "",
    topic: Annotated[str, typer.Option(help="The topic to read.", show_default=False)] = "",
    records: Annotated[
        str, typer.Option("--from", help="Infer from this file, one JSON object a line; - is standard input.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help="The file to write. Default: <name>.yaml", show_default=False)
    ] = None,
    name: Annotated[str, typer.Option(help="The pipeline's name. Default: after the topic.", show_default=False)] = "",
    table: Annotated[str, typer.Option(help="The Delta table. Default: ./lake/<name>", show_default=False)] = "",
    sample: Annotated[int, typer.Option(min=1, max=100_000, help="How many records to look at.")] = 1000,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it is there.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the evidence as JSON.")] = False,
) -> None:
    """Look at the newest records of a topic, infer a schema with its evidence, and write a pipeline file.

    The cluster notices nothing of it. Ends with 2 if the call is wrong, with 1 if there is nothing to infer from.
    """
    from penstock.authoring.draft import draft, validated
    from penstock.authoring.render import minimal

    if not records and not (brokers and topic):
        raise typer.BadParameter("give --brokers and --topic, or --from FILE.jsonl")
    request = _request(brokers, topic, records, name, table, out)
    if Path(request.file).exists() and not force:
        raise typer.BadParameter(f"{request.file} exists already; --force overwrites it", param_hint="--out")
    validated(minimal(request), request)
    made = draft(request, _from_file(records, sample) if records else _from_topic(request, sample))
    _write(Path(request.file), made.text)
    if json:
        from penstock.authoring.report import next_commands

        print(
            jsons.dumps({**made.as_data(), "file": request.file, "next": next_commands(made, _file(records))}, indent=2)
        )
    else:
        from rich.console import Console

        from penstock.authoring.report import show

        show(made, Console(highlight=False), _file(records))


def _request(brokers: str, topic: str, records: str, name: str, table: str, out: Path | None) -> Request:
    from penstock.authoring.request import Request, pipeline_name, topic_name

    topic = topic or topic_name(Path(records).name.split(".")[0] if records != STDIN else name or "records")
    name = name or pipeline_name(topic)
    listed = tuple(part.strip() for part in brokers.split(",") if part.strip())
    addresses = () if brokers in ("", "dev") else listed
    return Request(name, addresses, topic, table or f"./lake/{name}", str(out or f"{name}.yaml"))


def _file(records: str) -> str:
    return "" if records == STDIN else records


def _from_file(records: str, most: int) -> Sample:
    from penstock.authoring.lines import sample_lines

    if records == STDIN:
        return sample_lines(sys.stdin.buffer, "standard input", most)
    try:
        with Path(records).open("rb") as stream:
            return sample_lines(stream, records, most)
    except OSError as error:
        raise typer.BadParameter(f"{records}: {error.strerror}", param_hint="--from") from error


def _from_topic(request: Request, most: int) -> Sample:
    from penstock.authoring.topic import Bounds, sample_topic
    from penstock.sources.cluster import Cluster

    cluster = Cluster(",".join(request.brokers) if request.brokers else _embedded(request))
    try:
        _has_topic(cluster, request.topic)
    except Unavailable as error:
        raise _away(cluster) from error
    with _progress(request.topic, most) as progress:
        return sample_topic(cluster, request.topic, Bounds(most), progress)


def _embedded(request: Request) -> str:
    """The broker that a run of the file would use: the one beside it."""
    from penstock.dev import kafka

    folder = Path(request.file).absolute().parent
    if found := kafka.running(folder):
        return found.bootstrap
    raise PenstockError(
        f"init: no embedded Kafka runs for {folder}.",
        data="No file was written.",
        remedy="Start it and write records:  penstock dev up  or infer from a file:  penstock init --from FILE.jsonl",
    )


def _away(cluster: Cluster) -> Unavailable:
    return Unavailable(
        f"init: no broker of {cluster.bootstrap} answers.",
        data="No file was written.",
        remedy="Check the addresses and the network, or infer from a file:  penstock init --from FILE.jsonl",
    )


def _has_topic(cluster: Cluster, topic: str) -> None:
    there = [name for name in cluster.partitions() if not name.startswith("__")]
    if topic not in there:
        close = difflib.get_close_matches(topic, there, n=3) or sorted(there)[:10]
        known = f"It has: {', '.join(close)}" if close else "It has no topics"
        raise typer.BadParameter(f"{cluster.bootstrap} has no topic {topic}. {known}", param_hint="--topic")


@contextmanager
def _progress(topic: str, most: int) -> Iterator[Progress]:
    """A bar while records come, on a terminal; one line before, in a pipe. Both on standard error."""
    from rich.console import Console
    from rich.progress import Progress as Bars

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        console.print(f"Sampling topic {topic} ...", soft_wrap=True, markup=False)
        yield lambda _count: None
        return
    with Bars(console=console, transient=True) as bars:
        task = bars.add_task(f"Sampling topic {topic}", total=most)
        yield lambda count: bars.update(task, completed=count)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="--out") from error
