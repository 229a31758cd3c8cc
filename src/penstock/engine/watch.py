"""Watch a running query: its progress becomes events, a silent broker is noticed, a stop waits for the batch."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engine.governor import Governor
from penstock.engine.patience import Patience
from penstock.observe.events import Emit, Progressed, Warned
from penstock.ranges import positions_from_spark
from penstock.sources.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

POLL_SECONDS = 0.25
SLOW_SECONDS = 180.0
SILENCE_SECONDS = 15.0
"""Without progress for so long, ask the broker whether it is there."""


def watch(
    query: StreamingQuery,
    pipeline: str,
    emit: Emit,
    stopping: threading.Event,
    silence: Silence,
    idle: Sequence[Callable[[], None]],
    log: Path,
    governor: Governor,
) -> None:
    """Return when the query has ended; raise what ended it. A stop lets the batch in hand finish.

    Each of `idle` is called now and then while no batch is in hand.
    """
    progress, slow = _Progress(pipeline, emit, governor), Slow(pipeline, emit, log)
    while not query.awaitTermination(POLL_SECONDS):  # type: ignore[arg-type]  # Spark takes fractions of a second
        if progress.look(query):
            silence.broken()
        busy = bool(query.status["isTriggerActive"])
        if stopping.is_set() and not busy:
            query.stop()
        elif busy:
            silence.listen()
        else:
            silence.broken()
            for tend in idle:
                tend()
        slow.look(busy=busy)
    progress.look(query)


class _Progress:
    """Tells each of Spark's progress reports once."""

    def __init__(self, pipeline: str, emit: Emit, governor: Governor) -> None:
        self.pipeline, self.emit, self.governor = pipeline, emit, governor
        self._last: str | None = None

    def look(self, query: StreamingQuery) -> bool:
        report = query.lastProgress
        if report is None or report["timestamp"] == self._last:
            return False
        self._last = report["timestamp"]
        self.governor.progressed(report)
        lag = lag_of(report["sources"])
        self.emit(
            Progressed(
                pipeline=self.pipeline,
                batch_id=report["batchId"],
                rows=report["numInputRows"],
                rows_per_second=round(report["processedRowsPerSecond"] or 0.0, 1),
                lag_rows=sum(lag.values()) if lag is not None else None,
                lag=lag or {},
            )
        )
        return True


def lag_of(sources: Any) -> dict[str, int] | None:
    """Offsets between what the batch read and what the broker had when it was planned, per partition."""
    lag: dict[str, int] = {}
    known = False
    for source in sources or ():
        told: list[str] = [source[key] or "null" for key in ("latestOffset", "endOffset")]
        if "null" in told:
            continue
        known = True
        latest, end = map(positions_from_spark, told)
        lag |= {f"{t}-{part}": max(0, offset - end.get((t, part), 0)) for (t, part), offset in latest.items()}
    return lag if known else None


class Slow:
    """Says that a batch takes very long: a step may hang. First after some minutes, then each time it has doubled."""

    def __init__(self, pipeline: str, emit: Emit, log: Path) -> None:
        self.pipeline, self.emit, self.log = pipeline, emit, log
        self._since: float | None = None
        self._next = SLOW_SECONDS

    def look(self, *, busy: bool) -> None:
        if not busy:
            self._since, self._next = None, SLOW_SECONDS
            return
        self._since = self._since or time.monotonic()
        seconds = time.monotonic() - self._since
        if seconds >= self._next:
            self._next *= 2
            text = (
                f"the batch in hand has taken {seconds / 60:.0f} minutes so far. If a step hangs, its stack is in "
                f"{self.log}. To end the run now is safe (kill -9): the batch is done again, once."
            )
            self.emit(Warned(pipeline=self.pipeline, text=text))


class Silence:
    """Notices when a batch hangs because no broker answers; Spark itself would be silent for minutes."""

    def __init__(self, cluster: Cluster, patience: Patience) -> None:
        self.cluster, self.patience = cluster, patience
        self._heard = self._asked = time.monotonic()

    def listen(self) -> None:
        now = time.monotonic()
        if now - max(self._heard, self._asked) < SILENCE_SECONDS:
            return
        self._asked = now
        if self.cluster.reachable():
            self.patience.ease()
        else:
            self.patience.begin(f"source kafka: no broker of {self.cluster.bootstrap} answers.", SILENCE_SECONDS)

    def broken(self) -> None:
        self._heard = time.monotonic()
