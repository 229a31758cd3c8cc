"""`penstock jars`: the jars penstock adds to Spark, where they are, and how a cluster gets them."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from penstock.engine import jars as cache


def jars(
    name: Annotated[str, typer.Argument(metavar="[SET]", help="spark, kafka (the embedded broker) or all.")] = "all",
    fetch: Annotated[bool, typer.Option("--fetch", help="Fetch what is missing.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every jar again, and fetch those that are wrong.")
    ] = False,
    packages: Annotated[bool, typer.Option("--packages", help="Print the --packages line for a cluster.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the jars penstock needs: coordinates, checksum, and where they are."""
    if name not in ("all", *cache.LOCKS):
        raise typer.BadParameter(f"{name!r} is no set of jars; there are: all, {', '.join(cache.LOCKS)}.")
    if packages:
        typer.echo("--packages " + ",".join(jar.coordinates for jar in cache.lock("spark")))
        return
    chosen = list(cache.LOCKS) if name == "all" else [name]
    for each in chosen:
        if verify:
            cache.wrong(each, thorough=True)
        if verify or fetch:
            cache.ensure(each, lambda line: typer.echo(line, err=True))
    rows = [row for each in chosen for row in _rows(each)]
    typer.echo(json.dumps(rows, indent=2) if as_json else "\n".join(_lines(rows)))


def _rows(name: str) -> list[dict[str, str]]:
    wrong = cache.wrong(name)
    return [
        {
            "set": name,
            "coordinates": jar.coordinates,
            "sha256": jar.sha256,
            "path": str(cache.folder(name) / jar.file),
            "state": wrong.get(jar, "ok"),
        }
        for jar in cache.lock(name)
    ]


def _lines(rows: list[dict[str, str]]) -> list[str]:
    """One jar a line under its set's folder; then what to do when some are not there."""
    width, lines, shown = max(len(row["coordinates"]) for row in rows), [], ""
    for row in rows:
        if row["set"] != shown:
            shown = row["set"]
            lines.append(f"{shown}: {cache.folder(shown)}")
        state = "" if row["state"] == "ok" else f"  {row['state']}"
        lines.append(f"  {row['coordinates']:<{width}}  {row['sha256']}{state}")
    bad = sum(row["state"] != "ok" for row in rows)
    return [*lines, f"{bad} of {len(rows)} are not there. Fetch them:  penstock jars --fetch"] if bad else lines
