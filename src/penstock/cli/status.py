"""penstock status: how a pipeline stands, from any shell, in half a second."""

from __future__ import annotations

import json as json_text
from typing import Annotated, Any

import typer

from penstock.cli.loading import Env, File, Set, load, state_of


def status(
    file: File,
    env: Env = None,
    sets: Set = None,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Show how a pipeline stands: running or not, the last batch, rows, rejects, lag."""
    from penstock.observe.status import status as read_status

    pipeline = load(file, env, sets)
    found = read_status(pipeline.name, state_of(pipeline))
    print(json_text.dumps(found) if json else as_text(found))


def as_text(found: dict[str, Any]) -> str:
    """The status in a few lines for a person."""
    running = found["running"]
    who = f"running (process {running['pid']} on {running['host']})" if running else "not running"
    if found["batch_id"] is None:
        return f"{found['pipeline']}: {who}, no batch committed yet"
    last = found["last_batch"]
    sinks = (
        f"  sink {name}: {sink['rows']:,} rows, version {sink['version']}" for name, sink in found["sinks"].items()
    )
    rejected = ", ".join(f"{code} {count:,}" for code, count in sorted(found["rejected"].items())) or "none"
    lag = "unknown" if found["lag_rows"] is None else f"{found['lag_rows']:,} rows"
    return "\n".join(
        [
            f"{found['pipeline']}: {who}, generation {found['generation']}, "
            f"batch {found['batch_id']} committed {last['at']}",
            f"  read {found['read']:,} rows; last batch {last['rows']:,} rows in {last['seconds']:.1f} s; lag {lag}",
            *sinks,
            f"  rejected: {rejected}",
        ]
    )
