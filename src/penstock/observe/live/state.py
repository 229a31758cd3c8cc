"""What is known of a run: a frozen value, and how each event changes it. Times are seconds of one monotonic clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch

from penstock.observe import events
from penstock.observe.events import BatchCommitted, Event
from penstock.observe.live.facts import Facts
from penstock.observe.live.parts import Alarm, End, InHand, Note, Sunk, Totals, Wait
from penstock.observe.logs import say

MOST_RATES = 60
MOST_NOTES = 20


@dataclass(frozen=True)
class State:
    """Everything the view shows."""

    facts: Facts
    began: float
    generation: int | None = None
    batch: InHand | None = None
    last: BatchCommitted | None = None
    first_batch_at: float | None = None
    totals: Totals = field(default_factory=Totals)
    rate: float = 0.0
    """Rows a second of the newest batch; 0 while nothing comes."""
    rates: tuple[float, ...] = ()
    """The same of the last batches, oldest first."""
    late: int = 0
    """How many of the last batches, in a row, took longer than the trigger's interval."""
    lag: Mapping[str, int] | None = None
    """Rows by partition, as of the newest poll; before the first, as of the newest batch."""
    polled: bool = False
    """Whether the broker was asked: then what Spark says of the lag is older."""
    sinks: Mapping[str, Sunk] = field(default_factory=dict)
    alerts: Mapping[str, Alarm] = field(default_factory=dict)
    """Those that are raised, in the order in which they came."""
    pace: events.Paced | None = None
    """What the governor decided last."""
    waiting: Wait | None = None
    idle_since: float | None = None
    stopping: bool = False
    notes: tuple[Note, ...] = ()
    """Newest last."""
    end: End | None = None

    def after(self, event: Event, now: float) -> State:
        """The state once this has happened."""
        changed = _change(event, self, now)
        return changed.noted(say(event), now) if worth_a_line(event) else changed

    def noted(self, text: str, now: float) -> State:
        return replace(self, notes=(*self.notes, Note(now, text))[-MOST_NOTES:])

    def asked_to_stop(self) -> State:
        return replace(self, stopping=True)

    def ended(self, reason: str, now: float) -> State:
        """The run is over; the first reason holds."""
        return self if self.end else replace(self, end=End(reason, now), batch=None, waiting=None)

    def average(self, now: float) -> float:
        """Rows a second since the first batch began, waiting included."""
        until = self.end.at if self.end else now
        began = self.first_batch_at
        return 0.0 if began is None or until <= began else self.totals.read / (until - began)


def worth_a_line(event: Event) -> bool:
    """Whether this is news that must not be lost: it scrolls above the view as well."""
    if isinstance(event, BatchCommitted):
        return event.replayed
    told = events.CodeChanged | events.UnknownFields | events.RecordsLost | events.TableEvolved
    more = events.SchemaChanged | events.ProgressNotShown | events.Warned | events.Waiting | events.Recovered
    return isinstance(event, told | more | events.AlertRaised | events.AlertCleared)


@singledispatch
def _change(event: Event, state: State, now: float) -> State:
    return state


@_change.register
def _(event: events.RunStarted, state: State, now: float) -> State:
    """Also a further try of the same run: no batch is in hand."""
    return replace(state, generation=event.generation, batch=None, idle_since=None)


@_change.register
def _(event: events.PhaseStarted, state: State, now: float) -> State:
    same = state.batch if state.batch and state.batch.id == event.batch_id else InHand(event.batch_id, now)
    first = now if state.first_batch_at is None else state.first_batch_at
    in_hand = replace(same, phase=event.phase, phase_began=now)
    return replace(state, batch=in_hand, first_batch_at=first, idle_since=None)


@_change.register
def _(event: events.BatchStarted, state: State, now: float) -> State:
    same = state.batch if state.batch and state.batch.id == event.batch_id else InHand(event.batch_id, now)
    first = now if state.first_batch_at is None else state.first_batch_at
    return replace(state, batch=replace(same, offsets=event.offsets), first_batch_at=first, idle_since=None)


@_change.register
def _(event: BatchCommitted, state: State, now: float) -> State:
    rate = event.read / max(event.seconds, 0.001)
    every = state.facts.every_seconds
    sinks = {name: state.sinks.get(name, Sunk()).after(receipt, now) for name, receipt in event.sinks.items()}
    return replace(
        state,
        batch=None,
        last=event,
        totals=state.totals.plus(event),
        rate=rate,
        rates=(*state.rates, rate)[-MOST_RATES:],
        late=state.late + 1 if every is not None and event.seconds > every else 0,
        sinks={**state.sinks, **sinks},
        idle_since=now,
    )


@_change.register
def _(event: events.Progressed, state: State, now: float) -> State:
    """Spark's word after a batch, or that there was nothing to do. Where it knows no lag, the last one stays."""
    state = state if event.lag_rows is None or state.polled else replace(state, lag=event.lag)
    return replace(state, rate=0.0) if event.rows == 0 and state.batch is None else state


@_change.register
def _(event: events.LagMeasured, state: State, now: float) -> State:
    return replace(state, polled=True, lag={part.name: part.rows for part in event.lag.partitions})


@_change.register
def _(event: events.Paced, state: State, now: float) -> State:
    return replace(state, pace=event)


@_change.register
def _(event: events.AlertRaised, state: State, now: float) -> State:
    return replace(state, alerts={**state.alerts, event.alert: Alarm(event.alert, event.text, now)})


@_change.register
def _(event: events.AlertCleared, state: State, now: float) -> State:
    return replace(state, alerts={name: alarm for name, alarm in state.alerts.items() if name != event.alert})


@_change.register
def _(event: events.Waiting, state: State, now: float) -> State:
    return replace(state, waiting=Wait(event.cause, now), rate=0.0)


@_change.register
def _(event: events.Recovered, state: State, now: float) -> State:
    return replace(state, waiting=None)


@_change.register
def _(event: events.RunEnded, state: State, now: float) -> State:
    return state.ended(event.reason, now)
