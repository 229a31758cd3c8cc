"""One pipeline of `penstock top`, opened: its batch and phases, alerts, pace, partitions, rejects and sinks.

The lists are those of the live view of `penstock run`, drawn from what the state says instead of from events.
"""

from __future__ import annotations

from datetime import datetime

from rich.console import Group
from rich.text import Text

from penstock.cli.tables import number
from penstock.cli.top.table import STYLES, TROUBLE
from penstock.counting import spoken
from penstock.observe.events import BatchCommitted, Paced
from penstock.observe.live.facts import Facts
from penstock.observe.live.head import last_batch, pace, raised, totals
from penstock.observe.live.lists import lists
from penstock.observe.live.parts import Alarm, InHand, Note, Sunk, Totals
from penstock.observe.live.render import composed
from penstock.observe.live.state import State
from penstock.observe.live.words import BLOCKS, Glyphs, lasting, lines, sparkline, start
from penstock.observe.logs import printable
from penstock.operate.standings import Standing

SPARK = 40
"""Intervals of ten seconds that are drawn."""


def opened(standing: Standing, width: int, height: int, glyphs: Glyphs = BLOCKS) -> Group:
    """Everything that its state says of it, in so many lines and columns."""
    state, now = as_state(standing), standing.at
    upper = [
        *_title(standing, width),
        *([start("").append(printable(standing.why), TROUBLE)] if standing.why else []),
        *_in_hand(standing, width),
        *raised(state, now),
        *_speed(standing, width, glyphs),
        *totals(state, width),
        *last_batch(state, width, glyphs),
        *pace(state, width),
    ]
    return composed(upper, lists(state, width, now, glyphs), width, height, glyphs)


def as_state(standing: Standing) -> State:
    """What the live view would know of it, had it listened."""
    now, told = standing.now, standing.status()
    lag = now.lag if now else None
    return State(
        facts=Facts(standing.name, dict.fromkeys(told["sinks"], ""), "", standing.every_seconds),
        began=now.started_at if now else standing.at,
        generation=standing.generation,
        batch=_hand(standing),
        last=_last(standing),
        totals=Totals(
            0, told["read"], sum(sink["rows"] for sink in told["sinks"].values()), told["rejected"], told["dropped"]
        ),
        lag={part.name: part.rows for part in lag.partitions} if lag else None,
        sinks={name: _sunk(standing, sink) for name, sink in told["sinks"].items()},
        alerts={each["alert"]: Alarm(each["alert"], each["text"], each["since"]) for each in standing.alerts},
        pace=_paced(standing),
        notes=tuple(_note(row) for row in standing.runs[-8:]),
    )


def _title(standing: Standing, width: int) -> list[Text]:
    generation = f"generation {standing.generation}" if standing.generation is not None else "no generation yet"
    who = f"process {standing.holder.get('pid', '?')}" if standing.holder else ""
    told = standing.silent_seconds
    line = Text(no_wrap=True).append(f"{printable(standing.name)}  ", "bold")
    line.append(standing.state, STYLES.get(standing.state, ""))
    pieces = [generation, who, "" if told is None else f"told {lasting(told)} ago"]
    return [line, *lines("", [piece for piece in pieces if piece], width)]


def _in_hand(standing: Standing, width: int) -> list[Text]:
    hand = standing.now.in_hand if standing.now and standing.running else None
    if hand is None:
        return []
    phase = f"{printable(hand.phase)} for {lasting(standing.at - hand.phase_since)}"
    told = [f"{hand.batch_id}: {phase} ({lasting(standing.at - hand.since)} in all)"]
    return lines("batch", [*told, *([f"{hand.offsets:,} offsets"] if hand.offsets is not None else [])], width)


def _speed(standing: Standing, width: int, glyphs: Glyphs) -> list[Text]:
    spark = sparkline(standing.rates(SPARK), SPARK, glyphs)
    fresh = f"all that came up to {spoken(standing.freshness_seconds)} ago is in the sinks"
    rejects = f"{number(standing.rejects_per_second)} rejected"
    return [
        *(lines("fresh", [fresh], width) if standing.freshness_seconds is not None else []),
        *lines("rows/s", [f"{number(standing.rows_per_second)} read", rejects, spark], width),
    ]


def _hand(standing: Standing) -> InHand | None:
    hand = standing.now.in_hand if standing.now and standing.running else None
    return None if hand is None else InHand(hand.batch_id, hand.since, hand.offsets, hand.phase, hand.phase_since)


def _last(standing: Standing) -> BatchCommitted | None:
    last = standing.last
    if last is None:
        return None
    return BatchCommitted(
        pipeline=standing.name,
        batch_id=last.batch_id,
        read=last.read,
        written=0,
        rejected={},
        dropped={},
        seconds=last.seconds,
        phases=last.phases,
        sinks={},
        replayed=last.replayed,
    )


def _sunk(standing: Standing, sink: dict[str, int]) -> Sunk:
    at = datetime.fromisoformat(standing.last.committed_at).timestamp() if standing.last else None
    return Sunk(sink["rows"], sink["version"], at)


def _paced(standing: Standing) -> Paced | None:
    now = standing.now
    if now is None or now.read_limit is None or not standing.running:
        return None
    return Paced(pipeline=standing.name, batch_id=0, limit=now.read_limit, before=now.read_limit, reason=now.pace)


def _note(row: dict[str, object]) -> Note:
    text = f"{row.get('event')}: {row['text']}" if row.get("text") else str(row.get("event"))
    return Note(float(str(row["at"])), text)
