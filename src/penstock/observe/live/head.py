"""The upper half of the view: who runs, what is being done, how fast, what it came to so far."""

from __future__ import annotations

from itertools import zip_longest

from rich.cells import cell_len
from rich.text import Text

from penstock.observe.live.state import State
from penstock.observe.live.words import (
    LABEL,
    Glyphs,
    Piece,
    column,
    interval,
    lasting,
    lines,
    number,
    seconds,
    segments,
    sparkline,
    start,
)
from penstock.observe.logs import paced, printable

CALM_SECONDS = 1.0
"""A pause between batches that is shorter is no idleness."""
PHASES = ("intent", "pass", "conserve", "freeze", "tables", "topics", "outcome")
LEAST_PHASE_SECONDS = 0.01
MOST_ALERTS = 4
TROUBLE, FINE, NOTICE = "red", "green", "magenta"
"""Colours that can be read on black and on white; every one of them stands beside a word that says the same."""


def head(state: State, width: int, now: float, glyphs: Glyphs) -> list[Text]:
    """The lines that are always there."""
    return [
        *_title(state, width, now, glyphs),
        *_in_hand(state, width, now),
        *raised(state, now),
        *_speed(state, width, now, glyphs),
        *totals(state, width),
        *last_batch(state, width, glyphs),
        *pace(state, width),
    ]


def standing(state: State, now: float) -> tuple[str, str]:
    """One word for how the run stands, and its colour."""
    if state.end:
        return state.end.reason, TROUBLE if state.end.reason == "failed" else FINE
    if state.stopping:
        return "stopping", NOTICE
    if state.waiting:
        return "waiting", TROUBLE
    if state.batch or (state.idle_since is not None and now - state.idle_since < CALM_SECONDS):
        return "running", FINE
    return ("idle", FINE) if state.idle_since is not None else ("starting", FINE)


def _title(state: State, width: int, now: float, glyphs: Glyphs) -> list[Text]:
    word, style = standing(state, now)
    lasted = f" after {lasting(state.end.at - state.began)}" if state.end else f", up {lasting(now - state.began)}"
    generation = f"  generation {state.generation}" if state.generation is not None else ""
    room = width - cell_len(generation) - cell_len(word + lasted) - 2
    name = printable(state.facts.pipeline)
    name = name if cell_len(name) <= room else column(name, max(room, 8), glyphs)
    gap = " " * max(2, room + 2 - cell_len(name))
    return [Text(no_wrap=True, end="").append(name, "bold").append(generation + gap).append(word, style).append(lasted)]


def _in_hand(state: State, width: int, now: float) -> list[Text]:
    if state.waiting and not state.stopping:
        told = f"for {lasting(now - state.waiting.since)}: {printable(state.waiting.cause)}"
        return [start("waiting").append(told, TROUBLE)]
    if state.batch:
        return lines("batch", [*_doing(state, now), *_stopping(state)], width)
    if state.stopping and not state.end:
        return [start("batch").append("none in hand, ending", NOTICE)]
    if state.idle_since is None or state.end:
        told = "ended" if state.end else "none yet: checks, and the start of Spark"
        return [start("batch").append("none in hand" if state.end and state.last else told, "dim")]
    return [start("batch").append(f"none in hand for {lasting(now - state.idle_since)}", "dim")]


def _doing(state: State, now: float) -> list[Piece]:
    batch = state.batch
    assert batch is not None
    phase = f"{printable(batch.phase)} for {lasting(now - batch.phase_began)}" if batch.phase else ""
    whole = lasting(now - batch.began)
    told = f"{batch.id}: {phase} ({whole} in all)" if phase else f"{batch.id} for {whole}"
    return [told, *([f"{batch.offsets:,} offsets"] if batch.offsets is not None else [])]


def _stopping(state: State) -> list[Piece]:
    return [(finishing(state), NOTICE)] if state.stopping else []


def finishing(state: State) -> str:
    """What follows a Ctrl-C, in words."""
    what = f"finishing batch {state.batch.id}" if state.batch else "stopping: no batch is in hand"
    return f"{what}; Ctrl-C again does not hurt"


def _speed(state: State, width: int, now: float, glyphs: Glyphs) -> list[Text]:
    rates = f"{number(0 if state.end else state.rate)} now  {number(state.average(now))} average"
    room = width - LABEL - cell_len(rates) - 2
    return lines("rows/s", [rates, sparkline(state.rates, min(60, max(room, 10)), glyphs)], width)


def totals(state: State, width: int) -> list[Text]:
    sums = state.totals
    rejected, dropped, warned = (sum(by.values()) for by in (sums.rejected, sums.dropped, sums.warned))
    others = {"dropped": dropped, "warned": warned}
    pieces: list[Piece] = [
        f"{sums.read:,} read",
        f"{sums.written:,} written",
        (f"{rejected:,} rejected", NOTICE if rejected else ""),
        *(f"{count:,} {word}" for word, count in others.items() if count),
    ]
    return lines("rows", pieces, width)


def last_batch(state: State, width: int, glyphs: Glyphs) -> list[Text]:
    last, every = state.last, state.facts.every_seconds
    if last is None:
        return []
    took = seconds(last.seconds) + (f" of {interval(every)}" if every else "")
    told = [f"{last.batch_id}: {last.read:,} rows in {took}"]
    room = min(40, width - LABEL - cell_len(told[0]) - 2)
    phases = sorted(last.phases.items(), key=lambda pair: PHASES.index(pair[0]) if pair[0] in PHASES else len(PHASES))
    shown = [segments([spent for _, spent in phases], every or last.seconds, room, glyphs)] if room >= 10 else []
    named = [f"{printable(name)} {seconds(spent)}" for name, spent in phases if spent >= LEAST_PHASE_SECONDS]
    return [
        *lines("last batch", [*told, *shown], width),
        *(lines("", named, width) if named else []),
        *_late(state, width),
    ]


def raised(state: State, now: float) -> list[Text]:
    """A line for each alert that is raised; of many, the first, and how many there are."""
    shown = list(state.alerts.values())[:MOST_ALERTS]
    told = [f"{printable(each.name)} for {lasting(now - each.since)}: {printable(each.text)}" for each in shown]
    more = [f"and {len(state.alerts) - MOST_ALERTS} more"] if len(state.alerts) > MOST_ALERTS else []
    labels = ["ALERT" if len(state.alerts) == 1 else "ALERTS"]
    return [
        start(label).append(text, TROUBLE) for label, text in zip_longest(labels, [*told, *more], fillvalue="") if text
    ]


def pace(state: State, width: int) -> list[Text]:
    """What the governor holds, and why."""
    if state.pace is None or state.end:
        return []
    return lines("pace", [printable(part) for part in paced(state.pace)], width, gap=" ")


def _late(state: State, width: int) -> list[Text]:
    """Said in words: that batches take longer than the trigger is not seen from a bar that is full."""
    if not state.late or state.facts.every_seconds is None:
        return []
    often = f", {state.late} in a row" if state.late > 1 else ""
    told = [f"longer than the trigger{often}" + ("" if state.end else ":")]
    told += [] if state.end else ["the next batch starts at once"]
    return lines("", [(text, NOTICE) for text in told], width, gap=" ")
