"""An outline for a person: in the order in which things happen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.operate.outline_sinks import SinkOutline

if TYPE_CHECKING:
    from penstock.operate.outline import Outline, SourceOutline


def lines(found: Outline) -> Iterator[str]:
    """Every line of it."""
    yield f"{found.pipeline}: state {found.state}"
    yield ""
    yield f"reads   {_source(found.source)}"
    yield ""
    yield "stages"
    for stage in found.stages:
        yield f"  {stage.segment}  {stage.name:<16} {stage.runs_in:<7} {stage.why}"
    yield "     Stages with the same number share one crossing between Spark and Python."
    yield ""
    yield "writes, in this order"
    for sink in found.sinks:
        yield from _sink(sink)
    if found.not_guaranteed:
        yield ""
        yield "not guaranteed"
        yield from (f"  {warning}" for warning in found.not_guaranteed)


def _source(source: SourceOutline) -> str:
    """`orders; batch 0, the first, would read at most 1,200 records, from orders-0 at 0`."""
    what = ", ".join(source.topics)
    which = f"batch {source.batch_id}{', the first' if source.first else ''}"
    if source.rows is None:
        return f"{what}; next is {which}. {source.note}"
    places = ", ".join(f"{part} at {offset:,}" for part, offset in list(source.start.items())[:8])
    more = f" and {len(source.start) - 8} more" if len(source.start) > 8 else ""
    return f"{what}; {which}, would read at most {source.rows:,} records, from {places}{more}"


def _sink(sink: SinkOutline) -> Iterator[str]:
    yield f"  {sink.name:<16} {sink.kind} {sink.target}"
    if sink.problem:
        yield f"    would be refused: {sink.problem}"
        return
    yield f"    commits by {sink.committer}: {sink.why}"
    if sink.where:
        yield f"    takes rows where {sink.where}"
    if sink.exists is False:
        yield "    the table is not there yet and will be created"
    if sink.columns:
        named = (f"{'+ ' if name in sink.added else ''}{name} {kind}" for name, kind in sink.columns.items())
        yield f"    {', '.join(named)}"
