"""penstock preview: what a pipeline makes of the newest records of its topic. No state, table or topic is touched."""

from __future__ import annotations

import json as jsons
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.loading import Env, File, Set, load, say_spark_starts
from penstock.counting import counted

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.operate.preview import Preview


LEAST = 8
"""Characters of a column that are always shown, if it has as many."""


def preview(
    file: File,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, max=10_000, help="How many records to look at.")] = 20,
    env: Env = None,
    sets: Set = None,
    json: Annotated[bool, typer.Option("--json", help="Rows, rejects and counts as JSON.")] = False,
) -> None:
    """Decode, check and step the newest records, and show what each sink would get and what would be rejected."""
    pipeline = load(file, env, sets)

    from rich.console import Console

    from penstock.operate.looking import Look
    from penstock.operate.reaching import bootstrap_of

    found = Look(pipeline, bootstrap_of(pipeline), on_start=say_spark_starts).preview(rows)
    if json:
        print(jsons.dumps(as_data(found), default=str, indent=2))
    else:
        show(found, Console(highlight=False))


def as_data(found: Preview) -> dict[str, Any]:
    return {
        "read": found.read,
        "sinks": {name: table.to_pylist() for name, table in found.sinks.items()},
        "rejects": [_reject(row) for row in found.rejects.to_pylist()],
        "dropped": dict(found.fates.dropped),
        "warned": dict(found.fates.warned),
        "stopped": dict(found.fates.stopped),
        "not_routed": {name: count for name, count in found.fates.not_routed.items() if count},
    }


def _reject(row: dict[str, Any]) -> dict[str, Any]:
    kept = {name: row[name] for name in ("topic", "partition", "offset", "stage", "code", "field", "detail")}
    return {**kept, "value": (row["value"] or b"")[:200].decode("utf-8", "replace")}


def show(found: Preview, console: Console) -> None:
    """For a person: a table a sink, then the rejects with their reasons, then the counts."""
    from rich.markup import escape
    from rich.table import Table

    data = as_data(found)
    for name, rows in data["sinks"].items():
        table = Table(title=f"{escape(name)}: {len(rows)} rows", title_justify="left")
        columns = [column for column in found.sinks[name].schema.names if column not in ("_topic", "_timestamp")]
        cells = [[_short(row[column]) for column in columns] for row in rows]
        widths = fitted([max(map(len, texts)) for texts in zip(columns, *cells, strict=True)], console.width)
        for column, width in zip(columns, widths, strict=False):
            table.add_column(escape(column), overflow="ellipsis", no_wrap=True, width=width)
        for texts in cells:
            table.add_row(*map(escape, texts[: len(widths)]))
        console.print(table)
        if hidden := columns[len(widths) :]:
            console.print(f"No room for {', '.join(hidden)}: widen the terminal, or  --json", markup=False)
    if data["rejects"]:
        table = Table("record", "stage", "code", "field", "detail", title="rejected", title_justify="left")
        for reject in data["rejects"]:
            place = f"{reject['topic']}-{reject['partition']}-{reject['offset']}"
            told = [reject[name] or "" for name in ("stage", "code", "field", "detail")]
            table.add_row(escape(place), *(escape(text) for text in told))
        console.print(table)
    counts = [f"{count} {noun} by {name}" for noun in ("dropped", "warned") for name, count in data[noun].items()]
    counts += [f"{count} not routed to {name}" for name, count in data["not_routed"].items()]
    summary = [f"{counted(found.read, 'record')} looked at", f"{len(data['rejects'])} rejected", *counts]
    console.print(f"{', '.join(summary)}.", markup=False)
    for name, count in data["stopped"].items():
        why = f"A run would stop here: {count} of these records fail the check {name}, which says  on_fail: stop"
        console.print(why, markup=False)


def fitted(widths: list[int], room: int) -> list[int]:
    """Widths that fit: the widest columns give way first, down to LEAST; then columns at the end are left out."""
    made = list(widths)
    while made and sum(made) + 3 * len(made) + 1 > room:
        widest = max(made)
        if widest > LEAST:
            made[made.index(widest)] -= 1
        else:
            made.pop()
    return made


def _short(value: Any) -> str:
    text = "" if value is None else str(value)
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    return printable if len(printable) <= 40 else printable[:39] + "…"
