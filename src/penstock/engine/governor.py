"""The governor at work: watches batches, lets the law decide, turns the valve, and says why."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.engine.valve import Valve, open_valve
from penstock.observe.events import Emit, Paced
from penstock.pace.law import Decision, Goal, Learned, Observation, decide, first, resumed
from penstock.pace.memory import path_in, recall, remember
from penstock.pacing import seconds_of
from penstock.ranges import Positions, Range
from penstock.triggers import seconds_between

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from penstock.pipeline import Pipeline

NEWS = 0.25
"""A limit that changes by less than this share is not worth a line."""
TELL_SECONDS = 60.0
"""While it catches up, how far it is is told this often."""
RESTART_SECONDS = 60.0
"""Where the limit cannot be changed live, the query is restarted for a new one at most this often."""


class RestartAsked(Exception):
    """The query is to be started again with another limit: this batch is not begun, it comes again at once."""


class Governor:
    """Decides after each batch how large the next may be. Lives as long as the run, over every try of the query."""

    def __init__(self, pipeline: Pipeline, emit: Emit, *, once: bool = False) -> None:
        self.pipeline, self.emit, self.once = pipeline.name, emit, once
        self.goal = goal_of(pipeline, once=once)
        self.memory = path_in(pipeline.workplace)
        earlier = recall(self.memory)
        self.known: Learned = resumed(self.goal, earlier) if earlier else first(self.goal)
        self.paused = False
        self.restart_at = 0.0
        self.by_topic = pipeline.pace.fair == "by_topic"
        self._waiting: dict[str, int] = {}
        self._lock = threading.Lock()
        self._valve: Valve | None = None
        self._attached = False
        self._in_force = self.known.limit
        self._overhead = 0.0
        self._spent: dict[int, float] = {}
        self._latest: tuple[float, Positions] | None = None
        self._told: tuple[int, float] = (self.known.limit, time.monotonic())

    # the query comes and goes
    def begin(self) -> int:
        """The limit that a new query is to start with."""
        with self._lock:
            self._valve, self._attached, self._latest = None, False, None
            self._in_force = self.known.limit
            self.restart_at = time.monotonic() + RESTART_SECONDS
            return self._in_force

    def attach(self, query: StreamingQuery) -> None:
        """The query runs: from now on the limit is changed live, if this Spark lets us."""
        valve = open_valve(query)
        with self._lock:
            self._valve, self._attached = valve, True
            self._apply()

    @property
    def live(self) -> bool:
        return self._valve is not None

    # batches
    def before_batch(self) -> None:
        """A batch is about to begin. Raises RestartAsked where a new limit needs a new query."""
        if self.live or self.once or not self._attached or time.monotonic() < self.restart_at:
            return
        if _differ(self._wanted, self._in_force):
            raise RestartAsked

    def after_batch(self, batch_id: int, ranges: Sequence[Range], seconds: float) -> None:
        """A batch is done. What it teaches rules the very next one: Spark has not planned it yet."""
        rows = sum(map(len, ranges))
        self._spent = {batch_id: seconds}
        backlog, arriving = self._looked_ahead(ranges)
        seen = Observation(rows, seconds + self._overhead, self._in_force, backlog, arriving)
        with self._lock:
            before = self.known.limit
            self.known, decision = decide(self.goal, self.known, seen)
            self._apply()
        remember(self.memory, self.known)
        self._tell(batch_id, before, decision, seen)

    def progressed(self, report: dict[str, Any]) -> None:
        """Spark's own figures: what a batch takes beside our part in it."""
        spent = self._spent.get(report["batchId"])
        whole = report.get("durationMs", {}).get("triggerExecution")
        if spent is not None and whole is not None:
            self._overhead += 0.5 * (max(0.0, whole / 1000 - spent) - self._overhead)

    # people
    def pause(self) -> bool:
        """Let no further batch read anything; the query stays. False where this cannot be done while it runs."""
        return self._set_paused(True)

    def resume(self) -> bool:
        """Go on where it stopped, at the pace that was learned."""
        return self._set_paused(False)

    def _set_paused(self, paused: bool) -> bool:
        if self.once or not self.live:  # a bounded run takes a batch without rows for its end
            return False
        with self._lock:
            self.paused = paused
            took = self._apply()
        reason = "paused" if paused else "resumed"
        self.emit(Paced(pipeline=self.pipeline, batch_id=None, limit=self._wanted, before=0, reason=reason, news=True))
        return took

    @property
    def _wanted(self) -> int:
        return 0 if self.paused else self.known.limit

    def _apply(self) -> bool:
        """Turn the valve; where it does not turn, there is none."""
        if self._valve is None or (self._in_force == self._wanted and not self.by_topic):
            return self._valve is not None
        took = self._valve.set(self._wanted, self._waiting)
        if took:
            self._in_force = self._wanted
        elif took is False:
            self._valve = None
        return bool(took)

    def _looked_ahead(self, ranges: Sequence[Range]) -> tuple[int | None, float | None]:
        """Rows that the batch left behind, and how many a second came in since the one before."""
        latest = self._valve.latest() if self._valve else None
        if latest is None:
            return None, None
        now, earlier = time.monotonic(), self._latest
        self._latest = now, latest
        ends = {(part.topic, part.partition): part.end for part in ranges}
        behind = {part: max(0, offset - ends.get(part, offset)) for part, offset in latest.items()}
        self._waiting = {}
        for (topic, _), rows in behind.items():
            self._waiting[topic] = self._waiting.get(topic, 0) + rows
        backlog = sum(behind.values())
        if earlier is None or self.once or now - earlier[0] < 0.001:
            return backlog, None
        came = sum(max(0, offset - earlier[1].get(part, offset)) for part, offset in latest.items())
        return backlog, came / (now - earlier[0])

    def _tell(self, batch_id: int, before: int, decision: Decision, seen: Observation) -> None:
        said, at = self._told
        news = _differ(decision.limit, said) or (decision.behind and time.monotonic() - at >= TELL_SECONDS)
        if news:
            self._told = decision.limit, time.monotonic()
        self.emit(
            Paced(
                pipeline=self.pipeline,
                batch_id=batch_id,
                limit=decision.limit,
                before=before,
                reason=decision.reason,
                backlog=seen.backlog,
                caught_up_in=None if decision.caught_up_in is None else round(decision.caught_up_in, 1),
                news=news,
            )
        )


def goal_of(pipeline: Pipeline, *, once: bool = False) -> Goal:
    """What this pipeline's settings ask the governor to hold."""
    pace = pipeline.pace
    every = 0.0 if once else seconds_between(pipeline.trigger)
    freshness = None if pace.freshness is None else pace.freshness.seconds
    return Goal(seconds_of(pipeline.trigger, pace), pace.max_rows, freshness, every)


def _differ(one: int, other: int) -> bool:
    return abs(one - other) >= NEWS * max(one, other, 1)
