"""penstock validate: is this pipeline file right? No Spark, no JVM, no network."""

from __future__ import annotations

import json as jsons
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.loading import Env, File, Set, load
from penstock.counting import counted
from penstock.errors import InvalidPipeline
from penstock.pipeline import Pipeline
from penstock.registry import formats, sinks, sources


def validate(
    file: File,
    env: Env = None,
    sets: Set = None,
    json: Annotated[bool, typer.Option("--json", help="Print the verdict and the problems as JSON.")] = False,
) -> None:
    """Check a pipeline file and list every problem of it, each with its line. Ends with code 2 if there is one."""
    try:
        pipeline = load(file, env, sets)
    except InvalidPipeline as invalid:
        _say_invalid(invalid, as_json=json)
        raise typer.Exit(invalid.exit_code) from None
    if json:
        print(jsons.dumps({"valid": True, "problems": []}))
    else:
        print(f"{file} is valid: {flow(pipeline)}")


def _say_invalid(invalid: InvalidPipeline, *, as_json: bool) -> None:
    if as_json:
        print(jsons.dumps({"valid": False, "problems": [asdict(problem) for problem in invalid.problems]}, indent=2))
    else:
        print(invalid, file=sys.stderr)


def flow(pipeline: Pipeline) -> str:
    """The way of the rows in one line: `kafka topic orders -> json (6 columns) -> delta ./lake/orders`."""
    stages = [
        f"{sources.name_of(pipeline.source)} {_read(pipeline.source)}",
        _decoded(pipeline.decode),
        *([counted(len(pipeline.checks), "check")] if pipeline.checks else []),
        *([counted(len(pipeline.steps), "step")] if pipeline.steps else []),
        ", ".join(_end(sink.to, pipeline.folder) for sink in pipeline.sinks.values()),
    ]
    return " -> ".join(stages)


def _end(sink: Any, folder: Path) -> str:
    """`delta ./lake/orders`, `kafka big-orders`."""
    where = _near(sink.table, folder) if hasattr(sink, "table") else getattr(sink, "topic", None) or ""
    return f"{sinks.name_of(sink)} {where}".strip()


def _read(source: Any) -> str:
    if source.pattern is not None:
        return f"topics like {source.pattern}"
    names = list(source.topics or source.partitions)
    return f"topic{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _decoded(decode: Any) -> str:
    columns: dict[str, str] = getattr(decode, "column_types", dict)()
    count = f" ({counted(len(columns), 'column')})" if columns else ""
    return f"{formats.name_of(decode)}{count}"


def _near(table: str, folder: Path) -> str:
    """Short where it lies beside the file, as a person would write it."""
    return f".{os.sep}{Path(table).relative_to(folder)}" if Path(table).is_relative_to(folder) else table
