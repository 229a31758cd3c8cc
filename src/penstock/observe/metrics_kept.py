"""The figures of a run: fed by every event, put together with what the run tells of itself, read by whoever asks.

One thread feeds it, several may read. What a restart would lose is not kept: counters begin at 0 with each run, as
Prometheus expects.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod
from typing import Any

from penstock.observe import events
from penstock.observe.events import Event
from penstock.observe.lag import Lag, TopicLag
from penstock.observe.metrics import METRICS, MOST_VALUES, OTHER, STATES, Labels, Readings
from penstock.observe.now import Now

REJECT_SECONDS, FILE_SECONDS = 300.0, 3600.0
REJECTS_THAT_COUNT = 10
"""Fewer rejected records than these make no share: one of three is no third of anything."""
USUAL_BATCHES = 20
"""The longest of so many batches is what is usual."""
FIRST_SECONDS = 60.0
"""What is usual where nobody has seen a batch yet: Spark has to start."""
WATCHED_SECONDS, WATCHED_ARRIVALS = 3600.0, 30
"""Before it was watched so long, and records came at so many polls, nobody knows what silence is usual."""


FROM_THE_START = {"pace_changes": ("up", "down", "same"), "schema_changes": ("read", "park")}
"""Values of a label that are known before anything happens: they begin at 0, so that the first one shows as growth."""


class Sums:
    """Counters by label. There are never many values: what comes late is counted together."""

    def __init__(self) -> None:
        self._of: dict[str, dict[Labels, float]] = {
            name: dict.fromkeys(((label,) for label in FROM_THE_START.get(name, ())), 0.0)
            if metric.labels
            else {(): 0.0}
            for name, metric in METRICS.items()
            if metric.kind == "counter"
        }

    def add(self, name: str, value: float, *labels: str) -> None:
        found = self._of[name]
        if labels and labels not in found and len(found) >= MOST_VALUES:
            labels = (OTHER,)
        found[labels] = found.get(labels, 0.0) + value

    def add_each(self, name: str, values: Mapping[str, float]) -> None:
        for label, value in values.items():
            self.add(name, value, label)

    def copy(self) -> Readings:
        return {name: dict(found) for name, found in self._of.items()}


@dataclass
class Recent:
    """What was counted lately: pairs of numbers, each with its time."""

    seconds: float
    _items: deque[tuple[float, float, float]] = field(default_factory=deque)

    def add(self, at: float, one: float, other: float) -> None:
        self._items.append((at, one, other))
        self._forget(at)

    def sums(self, at: float) -> tuple[float, float]:
        self._forget(at)
        return sum(item[1] for item in self._items), sum(item[2] for item in self._items)

    def _forget(self, at: float) -> None:
        while self._items and self._items[0][0] < at - self.seconds:
            self._items.popleft()


@dataclass
class Silence:
    """How long nothing came, and how long that is the case as a rule."""

    began: float | None = None
    ends: int | None = None
    last: float | None = None
    arrivals: int = 0
    longest: float = 0.0

    def see(self, lag: Lag) -> None:
        ends = sum(part.end for part in lag.partitions)
        if self.began is None or self.last is None:
            self.began = self.last = lag.at
        elif self.ends is not None and ends > self.ends:
            self.longest = max(self.longest, lag.at - self.last)
            self.last, self.arrivals = lag.at, self.arrivals + 1
        self.ends = ends

    def seconds(self, at: float) -> float | None:
        return None if self.last is None else max(0.0, at - self.last)

    def share(self, at: float) -> float | None:
        quiet = self.seconds(at)
        known = self.began is not None and at - self.began >= WATCHED_SECONDS and self.arrivals >= WATCHED_ARRIVALS
        return quiet / self.longest if known and quiet is not None and self.longest else None


@dataclass(frozen=True)
class Usual:
    """What the pipeline file says of the length of batches."""

    every_seconds: float = 0.0
    target_seconds: float = 20.0
    batches: bool = True
    """False in real time: there is no batch that could be late."""


class Figures:
    """Keeps the figures of one run."""

    def __init__(self, usual: Usual, now: Callable[[], Now], clock: Callable[[], float] = time.time) -> None:
        self.usual, self.now, self.clock = usual, now, clock
        self.active: tuple[str, ...] = ()
        """Names of alerts that are raised."""
        self._lock = threading.Lock()
        self._sums = Sums()
        self._rejects, self._files = Recent(REJECT_SECONDS), Recent(FILE_SECONDS)
        self._lengths: deque[float] = deque(maxlen=USUAL_BATCHES)
        self._silence = Silence()
        self._unread_since: float | None = None
        self._waiting_since: float | None = None

    def take(self, event: Event) -> None:
        """Count what this event tells."""
        with self._lock:
            self._take(event)

    def read(self) -> Readings:
        """Every figure that is known at this moment."""
        with self._lock:
            now, at = self.now(), self.clock()
            made = self._sums.copy() | self._of_batches(now, at) | self._of_run(now, at)
            return made | (self._of_lag(now.lag, at) if now.lag else {})

    # events
    @singledispatchmethod
    def _take(self, event: Event) -> None:
        """Most events change nothing here."""

    @_take.register
    def _(self, event: events.BatchCommitted) -> None:
        add, each, at = self._sums.add, self._sums.add_each, self.clock()
        add("rows_read", event.read)
        add("batches", 1)
        add("batches_replayed", event.replayed)
        add("files_written", event.files)
        add("bytes_written", event.bytes)
        each("rows_written", {name: _rows(sink) for name, sink in event.sinks.items()})
        each("rows_rejected", event.rejected)
        each("rows_dropped", event.dropped)
        each("rows_warned", event.warned)
        each("rows_not_routed", event.not_routed)
        each("phase_seconds", event.phases)
        each("sink_seconds", event.sink_seconds)
        self._rejects.add(at, event.read, sum(event.rejected.values()))
        self._files.add(at, event.files, event.bytes)
        self._lengths.append(event.seconds)

    @_take.register
    def _(self, event: events.Streamed) -> None:
        self._sums.add("rows_read", event.read)
        self._sums.add_each("rows_rejected", event.rejected)
        self._rejects.add(self.clock(), event.read, sum(event.rejected.values()))

    @_take.register
    def _(self, event: events.LagMeasured) -> None:
        self._silence.see(event.lag)
        if event.lag.rows == 0:
            self._unread_since = None
        elif self._unread_since is None:
            self._unread_since = event.lag.at

    @_take.register
    def _(self, event: events.Paced) -> None:
        to = "up" if event.limit > event.before else "down" if event.limit < event.before else "same"
        self._sums.add("pace_changes", 1, to)

    @_take.register
    def _(self, event: events.RecordsLost) -> None:
        self._sums.add("rows_lost", sum(gap["end"] - gap["start"] for gap in event.gaps))

    @_take.register
    def _(self, event: events.Waiting) -> None:
        self._sums.add("waits", 1)
        if self._waiting_since is None:  # later tries are the same wait
            self._waiting_since = self.clock()

    @_take.register
    def _(self, event: events.Recovered) -> None:
        self._waiting_since = None

    @_take.register
    def _(self, event: events.RunStarted) -> None:
        if self.now().tries > 1:
            self._sums.add("restarts", 1)

    @_take.register
    def _(self, event: events.SchemaChanged) -> None:
        self._sums.add("schema_changes", 1, event.action)

    # readings
    def _of_batches(self, now: Now, at: float) -> Readings:
        read, rejected = self._rejects.sums(at)
        files, size = self._files.sums(at)
        made = {
            "reject_share": rejected / read if read and rejected >= REJECTS_THAT_COUNT else 0.0,
            "files_last_hour": files,
            "batch_in_hand_seconds": max(0.0, at - now.in_hand.since) if now.in_hand else 0.0,
            "commit_age_seconds": max(0.0, at - (now.last_batch.at if now.last_batch else now.started_at)),
        }
        if files:
            made["file_bytes"] = size / files
        if self.usual.batches:
            made["batch_overdue"] = self._overdue(now, at)
        if now.last_batch is not None:
            made |= {"batch_seconds": now.last_batch.seconds, "batch_rows": now.last_batch.rows}
            if self.usual.every_seconds:
                made["batch_trigger_share"] = now.last_batch.seconds / self.usual.every_seconds
        if now.read_limit is not None:
            made["batch_limit"] = now.read_limit
        return {name: {(): value} for name, value in made.items()}

    def _overdue(self, now: Now, at: float) -> float:
        """How late the batch in hand is, or the one that should have begun because records wait."""
        if now.waiting or now.ended or now.read_limit == 0:
            return 0.0
        usual = max(self.usual.target_seconds, max(self._lengths, default=FIRST_SECONDS))
        if now.in_hand is not None:
            return max(0.0, at - now.in_hand.since) / usual
        if self._unread_since is None:
            return 0.0
        since = max(self._unread_since, now.last_batch.at if now.last_batch else now.started_at)
        return max(0.0, at - since) / (usual + self.usual.every_seconds)

    def _of_run(self, now: Now, at: float) -> Readings:
        since = self._waiting_since if self._waiting_since is not None else now.waiting_since
        waiting = max(0.0, at - since) if now.waiting and since is not None else 0.0
        state = state_of(now)
        return {
            "state": {(name,): float(name == state) for name in STATES},
            "waiting_seconds": {(): waiting},
            "run_seconds": {(): max(0.0, at - now.started_at)},
            "alert_active": {(name,): 1.0 for name in self.active},
        }

    def _of_lag(self, lag: Lag, at: float) -> Readings:
        made: Readings = {"poll_age_seconds": {(): max(0.0, at - lag.at)}}
        for name, value in (("quiet_seconds", self._silence.seconds(at)), ("quiet_share", self._silence.share(at))):
            if value is not None:
                made[name] = {(): value}
        return made | readings_of(lag)


def state_of(now: Now) -> str:
    """What the pipeline does, in a word."""
    if now.ended:
        return "failed" if now.ended == "failed" else "ended"
    if now.waiting:
        return "waiting"
    if not now.tries:
        return "starting"
    if now.read_limit == 0:
        return "paused"
    return "working" if now.in_hand else "idle"


def readings_of(lag: Lag) -> Readings:
    """The figures of a lag, by topic: what the alerts look at, and whoever looks from outside."""
    shares, made = _runway_shares(lag), Readings()
    for topic in lag.topics:
        told = {**_of_topic(topic), "runway_share": shares.get(topic.topic)}
        for name, value in told.items():
            if value is not None:
                _put(made.setdefault(name, {}), name, topic.topic, float(value))
    return made


def _of_topic(topic: TopicLag) -> dict[str, float | None]:
    return {
        "lag_rows": topic.rows,
        "lag_offsets": topic.offsets,
        "lag_seconds": topic.seconds,
        "lag_growing": topic.trend == "growing",
        "lag_spike": topic.trend == "spike",
        "hot_partitions": len(topic.hot),
        "partitions_behind": topic.behind,
        "rows_held": topic.held,
        "rows_gone": topic.lost,
        "arrival_per_second": topic.arrival_per_second,
        "read_per_second": topic.read_per_second,
        "catch_up_seconds": topic.catch_up_seconds,
        "runway_seconds": topic.runway_seconds,
    }


def _runway_shares(lag: Lag) -> dict[str, float]:
    """Of each topic that keeps records for a time: what is left of that time for its next unread record."""
    made: dict[str, float] = {}
    for part in lag.partitions:
        way = part.runway
        if way is not None and way.retention_seconds and way.slack_seconds is not None and way.by == "time":
            share = way.slack_seconds / way.retention_seconds
            made[part.topic] = min(share, made.get(part.topic, share))
    return made


def _put(found: dict[Labels, float], name: str, topic: str, value: float) -> None:
    """A topic's figure; where there are too many topics, the rest shows its worst."""
    if len(found) < MOST_VALUES:
        found[(topic,)] = value
    else:
        choose = min if METRICS[name].least else max
        found[(OTHER,)] = choose(value, found.get((OTHER,), value))


def _rows(sink: Mapping[str, Any]) -> float:
    return float(sink.get("rows") or 0)
