"""Events as lines: plain ones for people, JSON ones for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any, TextIO

from penstock.counting import counted
from penstock.observe import events
from penstock.observe.events import Emit, Event


def lines_to(stream: TextIO, *, as_json: bool = False) -> Emit:
    """An `emit` that writes one line per event; progress without news is left out of the plain ones."""

    def emit(event: Event) -> None:
        if isinstance(event, events.PhaseStarted):
            return
        text = as_json_line(event) if as_json else plain_line(event)
        if text:
            stream.write(text + "\n")
            stream.flush()

    return emit


def to_all(*listeners: Emit) -> Emit:
    """An `emit` that tells every listener, in order."""

    def emit(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return emit


def as_json_line(event: Event) -> str:
    return json.dumps({"at": _now("milliseconds"), "event": name_of(event), **event.to_json()})


def name_of(event: Event) -> str:
    """`batch_committed` of BatchCommitted."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def plain_line(event: Event) -> str:
    text = say(event)
    return stamped(event.pipeline, text) if text else ""


def stamped(pipeline: str, text: str) -> str:
    """A line with the time in front, as every plain line has it."""
    return f"{datetime.now().strftime('%H:%M:%S')}  {pipeline}: {printable(text)}"


def printable(text: str) -> str:
    """The text on one line, for a terminal: names of fields come from the records, and may hold escape sequences."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


@singledispatch
def say(event: Event) -> str:
    """What happened, in words; empty if it is no news for a person."""
    return ""


def _says(kind: type[Event]) -> Callable[[Callable[[Any], str]], Callable[[Any], str]]:
    return say.register(kind)


@_says(events.RunStarted)
def _(event: events.RunStarted) -> str:
    begins = "first run" if event.resumes_at is None else f"resumes at batch {event.resumes_at}"
    return f"running, generation {event.generation}, {begins}, brokers {event.brokers}, state {event.state}"


@_says(events.BatchCommitted)
def _(event: events.BatchCommitted) -> str:
    parts = [f"{event.read:,} read", f"{event.written:,} written"]
    if event.rejected:
        parts.append(f"{sum(event.rejected.values()):,} rejected ({_counts(event.rejected)})")
    if event.dropped:
        parts.append(f"{sum(event.dropped.values()):,} dropped ({_counts(event.dropped)})")
    if event.warned:
        parts.append(f"{sum(event.warned.values()):,} warnings ({_counts(event.warned)})")
    again = ", published from the manifest of an earlier try" if event.replayed else ""
    return f"batch {event.batch_id} committed: {', '.join(parts)} in {event.seconds:.1f} s{again}"


@_says(events.Warned)
def _(event: events.Warned) -> str:
    return f"warning: {event.text}"


@_says(events.CodeChanged)
def _(event: events.CodeChanged) -> str:
    how = "is finished from what that code froze" if event.finished else "is computed again: nothing of it was visible"
    return f"batch {event.batch_id} was begun by other code (another version, or another pipeline file); it {how}"


@_says(events.Paced)
def _(event: events.Paced) -> str:
    if not event.news:
        return ""
    told = " ".join(paced(event))
    return told if event.batch_id is None else f"pace: {told}"


def paced(event: events.Paced) -> list[str]:
    """What the governor holds and why, in parts; whether that is news or not."""
    if event.batch_id is None:
        return [f"{event.reason}:", f"up to {event.limit:,} rows a batch" if event.limit else "no batch reads rows"]
    was = f", was {event.before:,}" if event.before != event.limit else ""
    behind = [_behind(event)] if event.backlog else []
    return [f"up to {event.limit:,} rows a batch{was}", f"({event.reason}){';' if behind else ''}", *behind]


def _behind(event: events.Paced) -> str:
    if event.caught_up_in is None:
        return f"{event.backlog:,} rows behind, and not catching up"
    minutes = event.caught_up_in / 60
    about = f"{event.caught_up_in:.0f} s" if minutes < 2 else f"{minutes:.0f} min" if minutes < 120 else ""
    return f"{event.backlog:,} rows behind, caught up in about {about or f'{minutes / 60:.0f} h'}"


@_says(events.Streamed)
def _(event: events.Streamed) -> str:
    told = (
        f", {sum(event.rejected.values()):,} rejected or dropped ({_counts(event.rejected)})" if event.rejected else ""
    )
    return f"real time: {event.read:,} records since the last boundary{told}" if event.read else ""


@_says(events.UnknownFields)
def _(event: events.UnknownFields) -> str:
    return f"batch {event.batch_id} has fields that the schema does not name: {_counts(event.fields)}"


@_says(events.RecordsLost)
def _(event: events.RecordsLost) -> str:
    ranges = "; ".join(
        f"{gap['topic']} partition {gap['partition']} offsets {gap['start']} to {gap['end'] - 1}" for gap in event.gaps
    )
    return f"batch {event.batch_id} went on without records that were deleted before they were read: {ranges}"


@_says(events.Waiting)
def _(event: events.Waiting) -> str:
    return f"waiting: {event.cause} Trying again until it works."


@_says(events.Recovered)
def _(event: events.Recovered) -> str:
    return f"goes on, after {event.after_seconds:.0f} s"


@_says(events.ProgressNotShown)
def _(event: events.ProgressNotShown) -> str:
    return f"progress is not shown in group {event.group}: {event.cause} No batch is affected; it is tried again"


@_says(events.SchemaChanged)
def _(event: events.SchemaChanged) -> str:
    became = "are read" if event.action == "read" else "go to the dead letters"
    what = event.told or "the same columns"
    return f"topic {event.topic}: records with schema {event.new} of {event.subject} {became}: {what}"


@_says(events.TableEvolved)
def _(event: events.TableEvolved) -> str:
    return f"sink {event.sink}: the table has new columns {', '.join(event.columns)} (version {event.version})"


@_says(events.AlertRaised)
def _(event: events.AlertRaised) -> str:
    return f"ALERT {event.alert}: {event.text}. {event.cause} {event.next_step}".rstrip()


@_says(events.AlertCleared)
def _(event: events.AlertCleared) -> str:
    return f"alert {event.alert} is over, after {event.after_seconds:.0f} s"


@_says(events.RunEnded)
def _(event: events.RunEnded) -> str:
    return f"{event.reason}: {counted(event.batches, 'batch', 'batches')} in {event.seconds:.1f} s"


def _counts(counts: dict[str, int]) -> str:
    shown = sorted(counts.items(), key=lambda pair: -pair[1])
    more = f", and {len(shown) - 8} more" if len(shown) > 8 else ""
    return ", ".join(f"{name} {count:,}" for name, count in shown[:8]) + more


def _now(precision: str) -> str:
    return datetime.now(UTC).isoformat(timespec=precision)
