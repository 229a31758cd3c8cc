"""The observer: a thread of its own beside a run. It hears every event, asks the broker at every poll, and tells.

It keeps `now.json` and the history, measures the lag (so that it moves during a long batch), and publishes progress to
the Kafka group. Nothing here can stop or delay a batch: events are only put into a queue, and what fails is said and
tried again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from penstock.engine.meter import Meter
from penstock.engine.publish import Publisher
from penstock.errors import PenstockError
from penstock.observe import events, gaps
from penstock.observe.alerts import Signals
from penstock.observe.diary import Diary
from penstock.observe.events import Emit, Event
from penstock.observe.history import History
from penstock.observe.logs import name_of
from penstock.observe.now import Board, Now
from penstock.observe.tracker import Tracker
from penstock.ranges import Positions
from penstock.sources.position import first_positions
from penstock.sources.probing import BESIDE_A_RUN
from penstock.triggers import seconds_between
from penstock.unread import Part

if TYPE_CHECKING:
    from pathlib import Path

    from penstock.ledger.ledger import Ledger
    from penstock.pipeline import Pipeline
    from penstock.sinks.kafka.committer import KafkaCommitter
    from penstock.sources.cluster import Cluster

PARTITIONS_SECONDS = 60.0
"""New partitions are looked for so often."""
MISSED = 3
"""So many polls in a row may fail before it is said: leaders change, and then all is well again."""
STOP_SECONDS = 8.0
"""How long a run that ends waits for the last word; a broker that is away must not hold it up."""


@dataclass
class Sight:
    """What there is to look at, once a try of the query is under way."""

    ledger: Ledger
    meter: Meter
    clusters: Sequence[KafkaCommitter]
    start: Positions | None
    partitions: list[Part] = field(default_factory=list)
    partitions_at: float = -float("inf")
    positions: Positions = field(default_factory=dict)

    @property
    def cluster(self) -> Cluster:
        return self.meter.cluster


class Observer:
    """Looks on while a pipeline runs."""

    def __init__(self, pipeline: Pipeline, folder: Path, run: str, emit: Emit) -> None:
        self.pipeline, self.folder, self.emit = pipeline, folder, emit
        seconds = pipeline.observe.poll.seconds
        every = seconds_between(pipeline.trigger)
        began = Now(pipeline.name, run, os.getpid(), time.time(), poll_seconds=seconds, every_seconds=every)
        self.board = Board(folder, began, min(1.0, seconds))
        self.diary = Diary(self.board, History(folder, pipeline.observe.history.seconds))
        self.publisher = Publisher(pipeline.name, pipeline.observe.group_of(pipeline.name), emit)
        self.signals = Signals(pipeline, run, lambda: self.board.now, emit)
        self._seconds = seconds
        self._next_poll = time.monotonic()
        self._heard: SimpleQueue[Event | Callable[[], None] | None] = SimpleQueue()
        self._sight: Sight | None = None
        self._spark: dict[Part, int] = {}
        self._said: set[str] = set()
        self._missed = 0
        self._thread = threading.Thread(target=self._run, name="penstock-observer", daemon=True)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Look on while the block runs. However that ends, the last word is said; but nobody waits long for it."""
        with self.signals.open():
            self._thread.start()
            try:
                yield
            except BaseException as error:
                self.ended("failed", str(error) or type(error).__name__)
                raise
            finally:
                self._heard.put(None)
                self._thread.join(STOP_SECONDS)

    def heard(self, event: Event) -> None:
        """Take note of an event. Costs the caller nothing."""
        self._heard.put(event)

    def attach(
        self, cluster: Cluster, ledger: Ledger, clusters: Sequence[KafkaCommitter], start: Positions | None
    ) -> None:
        """A try of the query begins: this is where it reads, and what it has done so far."""
        self._heard.put(lambda: self._attach(cluster, ledger, clusters, start))

    def ended(self, how: str, error: str = "") -> None:
        """The run has come to its end: `done`, `stopped` or `failed`."""
        self._heard.put(lambda: self.diary.ended(how, error))

    def _run(self) -> None:
        going = True
        while going:
            going = self._hear()
            self._careful("its progress", self.diary.history.tick)
            if going and time.monotonic() >= self._next_poll:
                self._next_poll = time.monotonic() + self._seconds
                self._careful("lag", self._poll)
                self._careful("alerts", self._alert)
            self._careful("the group", self._publish)
            self._careful("its progress", self.board.write)
        if not self.board.now.error:
            self._careful("lag", self._poll)  # so that what is left behind for others is not older than the last batch
        self._careful("alerts", self._alert)
        self._careful("its progress", lambda: self.diary.history.tick(force=True))
        self._careful("its progress", lambda: self.board.write(force=True))
        if self._sight is not None:
            self._sight.meter.close()

    def _hear(self) -> bool:
        """Take in what was heard, waiting for it until something else is due. False: that was the last."""
        due = self.board.due()
        pause = min(self._next_poll - time.monotonic(), self._seconds if due is None else due)
        try:
            item = self._heard.get(timeout=max(0.0, pause))
            while item is not None:
                self._careful("an event", partial(self._take, item) if isinstance(item, Event) else item)
                item = self._heard.get_nowait()
        except Empty:
            return True
        return False

    def _careful(self, what: str, act: Callable[[], object]) -> None:
        """Whatever goes wrong here is said once, and never reaches a batch."""
        try:
            act()
        except Exception as error:
            told = error.what if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
            if (key := f"{what} {type(error).__name__}") not in self._said:
                self._said.add(key)
                text = f"{what} cannot be kept up to date: {told} The pipeline goes on."
                self.emit(events.Warned(pipeline=self.pipeline.name, text=text))

    # what the broker says
    def _attach(
        self, cluster: Cluster, ledger: Ledger, clusters: Sequence[KafkaCommitter], start: Positions | None
    ) -> None:
        tracker = Tracker()
        if self._sight is not None:
            self._sight.meter.close()
            tracker = self._sight.meter.tracker
        meter = Meter(cluster, self.publisher.group, tracker, at_once=BESIDE_A_RUN)
        self._sight = Sight(ledger, meter, clusters, start)
        self._next_poll = time.monotonic()
        last = ledger.last_outcome()
        if last is not None:
            self._sight.meter.tracker.learn(last.ranges, last.tally)
            self._at(last.end, last.batch_id)
            if last.gaps and not gaps.kept(self.folder, ledger.generation, last.batch_id):
                self._keep_gaps(last.batch_id, [(gap.topic, gap.partition, gap.start, gap.end) for gap in last.gaps])

    def _poll(self) -> None:
        sight = self._sight
        if sight is None:
            return
        try:
            self._partitions(sight)
            lag = sight.meter.measure(sight.partitions, sight.positions, self._spark)
        except PenstockError:
            self._missed += 1
            if self._missed >= MISSED and not self.board.now.waiting:  # a run that waits has said so already
                raise
            return
        self._missed = 0
        self.board.update(lag=lag)
        self.board.least_seconds = max(self.board.least_seconds, len(lag.partitions) / 200)  # it is large then
        measured = events.LagMeasured(pipeline=self.pipeline.name, lag=lag)
        self.signals.take(measured)
        self.emit(measured)
        self.diary.history.lag(lag)
        self._said.discard("lag Unavailable")

    def _partitions(self, sight: Sight) -> None:
        if time.monotonic() - sight.partitions_at < PARTITIONS_SECONDS:
            return
        sight.partitions = sight.cluster.read_by(self.pipeline.source)
        sight.partitions_at = time.monotonic()
        new = [part for part in sight.partitions if part not in sight.positions]
        if not sight.positions and sight.start is None:
            sight.positions = first_positions(self.pipeline.source, sight.cluster, new)
        elif not sight.positions:
            sight.positions = dict(sight.start or {})

    def _alert(self) -> None:
        now, changes = self.board.now, self.signals.look()
        if (alerts := self.signals.standing()) != now.alerts:
            self.board.update(alerts=alerts)
        if changes:  # whoever is told may look at once, and is to find what he was told of
            self._careful("its progress", lambda: self.board.write(force=True))
        for event in self.signals.tell(changes):
            told = f"{event.alert}: {event.text}" if isinstance(event, events.AlertRaised) else ""
            told = event.alert if isinstance(event, events.AlertCleared) else told
            self.diary.history.run(name_of(event), now.run, now.generation, told)

    def _publish(self) -> None:
        if self._sight is not None and self.publisher.due():
            self.publisher.tell(self._sight.cluster, self._sight.clusters)
            self.board.update(shown=self.publisher.shown)

    def _at(self, positions: Positions, batch_id: int) -> None:
        assert self._sight is not None
        self._sight.positions = {**self._sight.positions, **positions}
        self.publisher.want(positions, batch_id, self._sight.clusters)
        self.board.update(shown=self.publisher.shown)

    # what the run says
    def _take(self, event: Event) -> None:
        self.diary.take(event)
        self.signals.take(event)
        if isinstance(event, events.BatchCommitted):
            self._committed(event.batch_id)
        elif isinstance(event, events.Progressed) and event.lag_rows is not None:
            parts = ((name.rpartition("-"), rows) for name, rows in event.lag.items())
            self._spark = {(topic, int(number)): rows for (topic, _, number), rows in parts}
        elif isinstance(event, events.RecordsLost):
            ranges = [(gap["topic"], gap["partition"], gap["start"], gap["end"]) for gap in event.gaps]
            self._keep_gaps(event.batch_id, ranges)

    def _committed(self, batch_id: int) -> None:
        outcome = self._sight.ledger.outcome(batch_id) if self._sight else None
        if outcome is not None and self._sight is not None:
            self._sight.meter.tracker.learn(outcome.ranges, outcome.tally)
            self._at(outcome.end, outcome.batch_id)

    def _keep_gaps(self, batch_id: int, ranges: list[tuple[str, int, int, int]]) -> None:
        sight = self._sight
        if sight is None:
            return
        after = {(topic, part): end for topic, part, _, end in ranges}
        found = sight.meter.prober.look(after, {part: at + 1 for part, at in after.items()}, list(after))
        made = []
        for topic, part, start, end in ranges:
            probe, each = found.get((topic, part)), sight.meter.tracker.bytes_per_offset((topic, part))
            made.append(
                gaps.Gap(
                    at=time.time(),
                    pipeline=self.pipeline.name,
                    generation=sight.ledger.generation,
                    batch_id=batch_id,
                    topic=topic,
                    partition=part,
                    start=start,
                    end=end,
                    written_after=sight.meter.tracker.arrived((topic, part), start),
                    written_before=probe.timestamp if probe else None,
                    estimated_bytes=None if each is None else round(each * (end - start)),
                )
            )
        gaps.keep(self.folder, made)
