"""`penstock dev`: an embedded Kafka for the pipelines of a folder, and records in and out of it."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.dev.kafka import DevKafka
    from penstock.dev.records import Record

app = typer.Typer(help="An embedded Kafka for the pipelines of a folder.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option(help="The folder of your pipeline files; the data go to .penstock/dev in it.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Topic = Annotated[str, typer.Argument(help="The topic's name.")]


@app.command()
def up(folder: Folder = Path()) -> None:
    """Start it, and leave it running until `penstock dev down`."""
    from penstock.dev import kafka
    from penstock.engine import jars

    found = kafka.running(folder)
    if found is None:
        jars.ensure("kafka", lambda line: typer.echo(line, err=True))
        found = kafka.up(folder)
        typer.echo(f"Kafka runs at {found.bootstrap}. A pipeline file in this folder reads it with  brokers: dev")
    else:
        typer.echo(f"Kafka runs already, at {found.bootstrap}{_lifetime(found)}.")


@app.command()
def down(folder: Folder = Path()) -> None:
    """Stop it. Topics and records stay for the next start."""
    from penstock.dev import kafka

    typer.echo("Stopped; its data stay." if kafka.down(folder) else f"No embedded Kafka runs for {folder.absolute()}.")


@app.command()
def status(folder: Folder = Path(), as_json: AsJson = False) -> None:
    """Say whether it runs, where, and what its topics hold. Ends with 1 when it does not run."""
    from penstock.dev import kafka

    found = kafka.running(folder)
    told: dict[str, Any] = _status(found) if found else {"running": False, "folder": str(folder.absolute())}
    if as_json:
        typer.echo(json.dumps(told, indent=2))
    elif found is None:
        typer.echo(f"No embedded Kafka runs for {told['folder']}. Start one:  penstock dev up")
    else:
        typer.echo(f"Kafka runs at {found.bootstrap}, process {told['pid']}{_lifetime(found)}. Log: {found.log}")
        for name, topic in told["topics"].items():
            typer.echo(f"  {name}  {topic['partitions']} partitions, {topic['records']} records")
    raise typer.Exit(0 if found else 1)


@app.command()
def produce(
    topic: Topic,
    file: Annotated[str, typer.Option(help="Where the lines come from; - is standard input.")] = "-",
    key_separator: Annotated[str, typer.Option(help="What stands between key and value; without it, no keys.")] = "",
    partitions: Annotated[int, typer.Option(min=1, help="Partitions of the topic, if it has to be created.")] = 4,
    folder: Folder = Path(),
) -> None:
    """Write one record for each line, creating the topic if it is missing."""
    from penstock.dev import kafka, records

    bootstrap = _running(folder).bootstrap
    with _lines(file) as lines:
        created = kafka.ensure_topic(bootstrap, topic, partitions)
        count = records.produce_pairs(bootstrap, topic, _pairs(lines, key_separator.encode()))
    typer.echo(f"{count} records written to {topic}{f', created with {partitions} partitions' if created else ''}.")


@app.command()
def consume(
    topic: Topic,
    most: Annotated[int | None, typer.Option("--max", min=1, help="Stop after so many records.")] = None,
    as_json: AsJson = False,
    folder: Folder = Path(),
) -> None:
    """Print the records of a topic from the beginning, and end at its end."""
    from penstock.dev import records, topics

    bootstrap = _running(folder).bootstrap
    if not topics.partitions_of(topics.admin(bootstrap), topic):
        raise PenstockError(f"{bootstrap} has no topic {topic}.", remedy="See what there is:  penstock dev status")
    for record in islice(records.read(bootstrap, topic), most):
        sys.stdout.buffer.write((json.dumps(_as_json(record)).encode() if as_json else record.value or b"") + b"\n")
    sys.stdout.buffer.flush()


def _running(folder: Path) -> DevKafka:
    from penstock.dev import kafka

    if found := kafka.running(folder):
        return found
    raise PenstockError(f"No embedded Kafka runs for {folder.absolute()}. Start one:  penstock dev up")


def _lifetime(found: DevKafka) -> str:
    return ", and ends with the run that started it" if found.child else ""


def _status(found: DevKafka) -> dict[str, Any]:
    from penstock.dev import records, topics

    names = sorted(name for name in topics.admin(found.bootstrap).list_topics(timeout=10).topics if name[:2] != "__")
    held = {name: records.offsets(found.bootstrap, name) for name in names}
    return {
        "running": True,
        "folder": str(found.folder),
        "bootstrap": found.bootstrap,
        "pid": found.pid,
        "ends_with_its_run": found.child,
        "log": str(found.log),
        "topics": {
            name: {"partitions": len(parts), "records": sum(high - low for low, high in parts.values())}
            for name, parts in held.items()
        },
    }


def _lines(file: str) -> BinaryIO:
    try:
        return sys.stdin.buffer if file == "-" else Path(file).open("rb")
    except OSError as error:
        raise PenstockError(f"{file}: {error.strerror}.", data="No record was written.") from error


def _pairs(lines: BinaryIO, separator: bytes) -> Iterator[tuple[bytes | None, bytes]]:
    """Key and value of each line."""
    for number, line in enumerate(lines, 1):
        text = line.removesuffix(b"\n")
        key, found, value = text.partition(separator) if separator else (None, b"-", text)
        if not found:
            raise PenstockError(
                f"line {number} has no {separator.decode()!r} between key and value.",
                data=f"The {number - 1} lines before it were written.",
            )
        yield key, value


def _as_json(record: Record) -> dict[str, Any]:
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        **_text("key", record.key),
        **_text("value", record.value),
        "headers": [{"name": name, **_text("value", value)} for name, value in record.headers],
    }


def _text(name: str, content: bytes | None) -> dict[str, str | None]:
    """Bytes as text where they are text, else in base64 under another name."""
    try:
        return {name: None if content is None else content.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(content or b"").decode()}
