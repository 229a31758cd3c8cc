"""penstock lag: how far behind, in rows and seconds, by partition; of a pipeline, or of any Spark job."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Brokers, Checkpoint, Committed, Env, FileOrNone, Set, load, state_of
from penstock.cli.stopping import noted_interrupt
from penstock.cli.tables import aligned, number
from penstock.counting import spoken

if TYPE_CHECKING:
    from penstock.observe.lag import PartitionLag
    from penstock.operate.lagging import OfCheckpoint, OfPipeline, Reading

MOST_LINES = 20
"""Partitions that are printed; `--all` and `--json` have every one."""


def lag(
    file: FileOrNone = None,
    env: Env = None,
    sets: Set = None,
    checkpoint: Checkpoint = None,
    brokers: Brokers = None,
    committed: Committed = False,
    publish: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            help="With --checkpoint: show the job's progress in this Kafka group, for Kafka's own tools.",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Look again and again, until Ctrl-C.")] = False,
    every: Annotated[float, typer.Option(metavar="SECONDS", help="With --watch: how often.", min=0.1)] = 5.0,
    every_partition: Annotated[bool, typer.Option("--all", help="Print every partition.")] = False,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object; with --watch one a line.")] = False,
) -> None:
    """Show how far a pipeline, running or dead, or any Spark job is behind its topics."""
    look, stopping = _who(file, env, sets, checkpoint, brokers, committed, publish), noted_interrupt()
    try:
        while not stopping.is_set():
            found = look.measure()
            if watch and sys.stdout.isatty() and not json:
                print("\x1b[H\x1b[2J", end="")
            print(json_text.dumps(found.to_json()) if json else "\n".join(as_lines(found, every_partition)), flush=True)
            if not watch:
                return
            stopping.wait(every)
    except KeyboardInterrupt:
        return
    finally:
        look.close()


def _who(
    file: Path | None,
    env: str | None,
    sets: list[str] | None,
    checkpoint: Path | None,
    brokers: str | None,
    committed: bool,
    publish: str | None,
) -> OfPipeline | OfCheckpoint:
    if (file is None) == (checkpoint is None):
        raise typer.BadParameter("needs a pipeline file, or --checkpoint PATH; one of them.", param_hint="FILE")
    if file is not None:
        if brokers or publish or committed:
            raise typer.BadParameter("goes with --checkpoint only: a pipeline file says it.", param_hint="--brokers")
        pipeline = load(file, env, sets)

        from penstock.operate.lagging import OfPipeline
        from penstock.operate.reaching import bootstrap_of

        return OfPipeline(pipeline, state_of(pipeline), bootstrap_of(pipeline))
    if not brokers:
        raise typer.BadParameter(
            "is needed: a checkpoint does not say where its brokers are. Without one:  penstock checkpoint show PATH",
            param_hint="--brokers",
        )
    from penstock.operate.lagging import OfCheckpoint

    assert checkpoint is not None
    return OfCheckpoint(checkpoint, brokers, committed, publish=publish)


def as_lines(found: Reading, everything: bool = False) -> Iterator[str]:
    """The lag for a person: a sentence, the rates, the partitions that are behind, what should be known."""
    from penstock.observe.logs import printable

    total = found.lag.total
    if total is None or not found.lag.partitions:
        yield f"{printable(found.name)}: no Kafka partition to look at"
        yield from _findings(found)
        return
    yield f"{printable(found.name)}: {_sentence(found)}"
    rates = f"comes {number(total.arrival_per_second)}/s, is read {number(total.read_per_second)}/s"
    if total.arrival_per_second is not None and total.rows:
        ends = "never caught up at this pace" if total.catch_up_seconds is None else "caught up in "
        rates += f"; {ends}{spoken(total.catch_up_seconds) if total.catch_up_seconds is not None else ''}"
    if total.arrival_per_second is not None:
        yield f"  {rates}"
    behind = [part for part in found.lag.partitions if part.offsets or part.lost]
    shown = sorted(found.lag.partitions if everything else behind, key=lambda part: (-part.rows, part.topic))
    if shown:
        yield from aligned(HEAD, map(_row, shown if everything else shown[:MOST_LINES]))
    if len(shown) > MOST_LINES and not everything:
        yield f"  and {len(shown) - MOST_LINES:,} more partitions: --all shows them"
    yield from _warnings(found)
    yield from _findings(found)


HEAD = (
    "partition",
    "rows",
    "offsets",
    "waits",
    "age",
    "comes/s",
    "read/s",
    "runway",
    "position",
    "end",
    "Spark",
    "group",
)


def _row(part: PartitionLag) -> tuple[str, ...]:
    runway = part.runway
    safe = "-" if runway is None else spoken(runway.seconds) if runway.seconds is not None else "safe"
    return (
        part.name,
        f"{'~' if part.estimated else ''}{part.rows:,}",
        f"{part.offsets:,}",
        spoken(part.waiting_seconds),
        spoken(part.age_seconds),
        number(part.arrival_per_second),
        number(part.read_per_second),
        safe if runway and (runway.retention_seconds or runway.retention_bytes) else "-",
        str(part.position),
        str(part.end),
        number(part.spark_offsets),
        number(part.group_offsets),
    )


def _sentence(found: Reading) -> str:
    total = found.lag.total
    assert total is not None
    who = {True: "running", False: "not running", None: "a checkpoint"}[found.running]
    if total.rows == 0:
        return f"nothing is unread in {total.partitions:,} partitions ({who})"
    about = "about " if total.estimated else ""
    trend = "" if total.trend == "steady" else f"; {total.trend}"
    return (
        f"{about}{total.rows:,} rows behind in {total.behind:,} of {total.partitions:,} partitions, "
        f"the oldest waits {spoken(total.seconds)} ({who}){trend}"
    )


def _warnings(found: Reading) -> Iterator[str]:
    total = found.lag.total
    assert total is not None
    if total.hot:
        yield f"  hot: {', '.join(total.hot[:5])} carries far more than the others of its topic"
    if total.held:
        yield f"  held back: {total.held:,} offsets, by transactions that are still open"
    for part in found.lag.partitions:
        if part.lost:
            upto = part.position + part.lost - 1
            yield f"  lost: {part.name} offsets {part.position} to {upto} were deleted before they were read"
    if total.runway_seconds is not None:
        yield f"  runway: in {spoken(total.runway_seconds)} the broker deletes unread records, at the present pace"
    for text in found.lag.unknown:
        yield f"  not known: {text}"


def _findings(found: Reading) -> Iterator[str]:
    from penstock.observe.logs import printable

    for finding in found.checkpoint.findings if found.checkpoint else ():
        yield f"  {'damage' if finding.grave else 'note'}: {printable(finding.what)}"
        if finding.remedy:
            yield f"    {printable(finding.remedy)}"
    if found.published:
        yield f"  its progress is shown in the group {printable(found.published)}"
