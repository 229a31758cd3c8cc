"""Runs, told as events: what the tests of the live view draw."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.observe.events import (
    AlertRaised,
    BatchCommitted,
    BatchStarted,
    Event,
    Paced,
    PhaseStarted,
    Progressed,
    RunEnded,
    RunStarted,
    TableEvolved,
    UnknownFields,
    Waiting,
)
from penstock.observe.live.facts import Facts
from penstock.observe.live.state import State

ORDERS = Facts("orders", {"lake": "delta", "alerts": "kafka"}, "/data/lake/orders_dead", 10.0)
NAME = {"pipeline": "orders"}
PHASES = {
    "conserve": 0.004,
    "freeze": 0.02,
    "intent": 0.03,
    "outcome": 0.02,
    "pass": 1.2,
    "tables": 0.21,
    "topics": 0.05,
}
"""In the order of the ledger's JSON."""
HOSTILE = "[bold red]x[/] \x1b[2J\x1b]0;owned\x07\r\n:smile: \u202eevil\ud800"
"""Markup, escape sequences, line ends, an emoji's name, a turn of direction, half a character."""


def started(generation: int = 1) -> RunStarted:
    return RunStarted(generation=generation, brokers="b:9092", state="/state", resumes_at=None, **NAME)


def committed(batch_id: int = 0, **changes: Any) -> BatchCommitted:
    told: dict[str, Any] = {
        "read": 10_000,
        "written": 9_900,
        "rejected": {"invalid_json": 90, "check:positive": 8},
        "dropped": {"tombstone": 2},
        "seconds": 1.55,
        "phases": PHASES,
        "sinks": {"lake": {"version": batch_id + 1, "rows": 9_900}, "alerts": {"version": batch_id * 2, "rows": 10}},
        "replayed": False,
    }
    return BatchCommitted(batch_id=batch_id, **{**NAME, **told, **changes})


def begun(batch_id: int, phase: str = "pass", offsets: int = 10_000) -> list[Event]:
    return [
        PhaseStarted(batch_id=batch_id, phase="intent", **NAME),
        BatchStarted(batch_id=batch_id, offsets=offsets, **NAME),
        PhaseStarted(batch_id=batch_id, phase=phase, **NAME),
    ]


def progressed(lag: dict[str, int] | None = None, rows: int = 10_000) -> Progressed:
    total = None if lag is None else sum(lag.values())
    return Progressed(batch_id=0, rows=rows, rows_per_second=1.0, lag_rows=total, lag=lag or {}, **NAME)


def waiting(cause: str = "source kafka: no broker of b:9092 answers.") -> Waiting:
    return Waiting(cause=cause, pause_seconds=1.0, attempt=1, **NAME)


def ended(reason: str = "done") -> RunEnded:
    return RunEnded(reason=reason, batches=1, seconds=1.0, **NAME)


def after(events: Iterable[Event], state: State | None = None, begin: float = 0.0, step: float = 1.0) -> State:
    """The state once these have happened, a second apart."""
    made, now = state or State(ORDERS, 0.0), begin
    for event in events:
        now += step
        made = made.after(event, now)
    return made


def busy() -> State:
    """Forty batches, the last three too slow, one in hand; a table that grew; twelve partitions behind."""
    state = after([started()])
    for number in range(40):
        slow = {"seconds": 12.5, "phases": {**PHASES, "pass": 12.1}} if number > 36 else {}
        batch = committed(number, read=10_000 + number * 137 % 991, warned={"late": 1}, **slow)
        lag = {f"orders-{part}": 10 * part * part for part in range(12)}
        state = after([*begun(number), batch, progressed(lag)], state, 10.0 * (number + 1))
        if number == 20:
            state = state.after(TableEvolved(sink="lake", columns=("coupon", "note"), version=21, **NAME), 216.0)
    return after(begun(40), state, 411.0, 0.5)


def raised(
    name: str = "lag_growing", text: str = "orders: 12,000 rows behind, and more with every batch"
) -> AlertRaised:
    return AlertRaised(alert=name, text=text, value=1.0, pipeline="orders")


def alerted() -> State:
    """Two alerts, and a governor that holds batches down."""
    pace = Paced(
        batch_id=39, limit=8_000, before=10_000, reason="a batch took 12.5 s of 10 s", backlog=12_000, pipeline="orders"
    )
    return after([pace, raised(), raised("small_files", "lake: 60 files an hour, 20 KB each")], busy(), 413.0)


def crowded() -> State:
    """Two hundred partitions, twenty sinks, thirty codes, names in many scripts."""
    sinks = {f"sink-{number:02}": "delta" if number % 3 else "kafka" for number in range(20)}
    facts = Facts("наряды-заказы-注文-with-a-long-name", sinks, "/données/ложь/行/" + "long/" * 30 + "dead", None)
    receipts = {name: {"version": 7, "rows": 1_000_000 + place} for place, name in enumerate(sinks)}
    codes = {f"code_{number:02}_注文": 2**number for number in range(30)}
    batch = committed(7, rejected=codes, sinks=receipts, read=2**31, written=2**30)
    lag = {f"注文.événements-{part}": (part * 7919) % 1009 for part in range(200)}
    told = UnknownFields(batch_id=7, fields={"größe": 3, "数量": 2}, **NAME)
    return after([started(), *begun(7), told, batch, progressed(lag)], State(facts, 0.0))


def hostile() -> State:
    """Every name tries to be something else."""
    facts = Facts(HOSTILE, {HOSTILE: HOSTILE}, HOSTILE, None)
    batch = committed(0, rejected={HOSTILE: 5}, phases={HOSTILE: 1.0}, sinks={HOSTILE: {"version": 1, "rows": 5}})
    told = UnknownFields(batch_id=0, fields={HOSTILE: 3}, **NAME)
    events = [started(), told, batch, progressed({f"{HOSTILE}-0": 4}), *begun(1, phase=HOSTILE), waiting(HOSTILE)]
    events += [raised(HOSTILE, HOSTILE), Paced(batch_id=1, limit=1, before=1, reason=HOSTILE, pipeline="orders")]
    return after(events, State(facts, 0.0))
