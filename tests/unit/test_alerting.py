"""Alerts over simulated hours: silent in healthy noise, and raised within two polls where something is wrong."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pytest

from penstock.alarms import BUILT_IN, Alert, Condition
from penstock.observe.alerting import Alarms, Change, Finding, Rule, threshold
from penstock.observe.alerting_known import KNOWN
from penstock.observe.alerts import rules_of
from penstock.observe.events import BatchCommitted, LagMeasured, Waiting
from penstock.observe.metrics import METRICS, Readings
from penstock.observe.metrics_kept import Figures, Usual
from penstock.observe.now import InHand, LastBatch, Now
from penstock.observe.tracker import Measure, Tracker
from penstock.options import Duration
from penstock.unread import Retention

POLL = 10.0
HOUR = 360
"""Polls."""


@dataclass
class World:
    """A pipeline and its topic in simulated time: a batch begins at every trigger, and takes what is there."""

    partitions: int = 4
    rate: float = 200.0
    """Rows a second, each partition."""
    capacity: float = 5000.0
    """Rows a second that a batch works off."""
    limit: int = 100_000
    trigger: float = 10.0
    rejects: float = 0.01
    retention: float = 7 * 86_400.0
    file_bytes: int = 100_000
    seed: int = 1
    at: float = 1_000_000.0
    stuck: bool = False
    stopped: bool = False
    shape: Callable[[random.Random, float], float] = lambda noise, _at: noise.uniform(0.5, 1.5)
    skew: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.noise = random.Random(self.seed)
        self.tracker = Tracker()
        self.now = Now("p", started_at=self.at, tries=1, read_limit=self.limit)
        self.figures = Figures(Usual(self.trigger), lambda: self.now, lambda: self.at)
        self.alarms = Alarms(rules_of(()))
        self.ends = dict.fromkeys(range(self.partitions), 0.0)
        self.positions = dict.fromkeys(range(self.partitions), 0)
        self.past: deque[tuple[float, dict[tuple[str, int], int]]] = deque()
        self.batch: tuple[float, dict[int, int]] | None = None
        self.next_trigger, self.batch_id = self.at, 0
        self.changes: list[Change] = []

    def polls(self, count: int) -> list[str]:
        """Names of alerts that are raised during so many polls."""
        before = len(self.changes)
        for _ in range(count):
            for _ in range(int(POLL)):
                self._second()
            self._poll()
        return [change.rule.name for change in self.changes[before:] if change.raised]

    def arrive(self, rows: float, parts: Iterable[int] | None = None) -> None:
        for part in parts if parts is not None else self.ends:
            self.ends[part] += rows

    def _second(self) -> None:
        self.at += 1.0
        for part in self.ends:
            self.arrive(self.rate * self.skew.get(part, 1.0) * self.shape(self.noise, self.at), [part])
        if self.batch is not None and self.at >= self.batch[0] and not self.stuck and not self.stopped:
            self._commit(self.batch[1])
        if self.batch is None and self.at >= self.next_trigger and not self.stopped:
            self._begin()

    def _begin(self) -> None:
        waiting = {part: int(self.ends[part]) - self.positions[part] for part in self.ends}
        total = sum(waiting.values())
        share = min(1.0, self.limit / total) if total else 0.0
        takes = {part: int(rows * share) for part, rows in waiting.items()}
        seconds = 1.0 + sum(takes.values()) / self.capacity * self.noise.uniform(0.8, 1.4)
        self.batch = (self.at + seconds, takes)
        self.next_trigger = max(self.at, self.next_trigger + self.trigger)
        self._tell(in_hand=InHand(self.batch_id, self.at, "pass", self.at))

    def _commit(self, takes: dict[int, int]) -> None:
        assert self.now.in_hand is not None
        read, seconds = sum(takes.values()), self.at - self.now.in_hand.since
        for part, rows in takes.items():
            self.positions[part] += rows
        bad = {"wrong_type": int(read * self.rejects * self.noise.uniform(0.5, 1.5))}
        phases, sinks = {"pass": seconds}, {"lake": {"rows": read, "version": 1}}
        last = LastBatch(self.batch_id, self.at, read, read, bad, {}, seconds, phases, sinks)
        self._tell(in_hand=None, last_batch=last)
        self.figures.take(
            BatchCommitted(
                pipeline="p", batch_id=self.batch_id, read=read, written=read, rejected=bad, dropped={},
                seconds=seconds, phases=phases, sinks=sinks, replayed=False, files=4, bytes=4 * self.file_bytes,
            )
        )  # fmt: skip
        self.batch, self.batch_id = None, self.batch_id + 1

    def _poll(self) -> None:
        ends = {("t", part): int(end) for part, end in self.ends.items()}
        self.past.append((self.at, {("t", part): int(end) for part, end in self.ends.items()}))
        while len(self.past) > 1 and self.past[1][0] < self.at - self.retention:
            self.past.popleft()
        starts = self.past[0][1] if self.past[0][0] < self.at - self.retention else {}
        positions = {("t", part): at for part, at in self.positions.items()}
        keeps = {"t": Retention(self.retention, None, None)}
        lag = self.tracker.see(Measure(self.at, positions, ends, starts, retention=keeps))
        self._tell(lag=lag)
        self.figures.take(LagMeasured(pipeline="p", lag=lag))
        self.changes += self.alarms.look(self.figures.read(), self.at)

    def _tell(self, **changes: object) -> None:
        self.now = Now(**{**self.now.__dict__, **changes})


def test_every_built_in_alert_has_a_cause_and_a_next_step() -> None:
    assert tuple(rule.name for rule in KNOWN) == BUILT_IN
    assert all(rule.cause.endswith(".") and len(rule.next_step) > 20 for rule in KNOWN[:-1])


def burst_of_a_producer(noise: random.Random, at: float) -> float:
    """Nothing for a minute, then a minute's worth in a second."""
    return 60.0 if int(at) % 60 == 0 else 0.0


def by_day(noise: random.Random, at: float) -> float:
    return 0.2 + (at / 3600.0 % 3.0) * noise.uniform(0.3, 1.0)


NOISES = {
    "steady": World(),
    "slow triggers": World(trigger=60.0),
    "quick": World(file_bytes=2_000_000, trigger=1.0, rate=2000.0, capacity=20_000.0),
    "in clumps": World(shape=burst_of_a_producer, rate=50.0),
    "clumps and slow triggers": World(shape=burst_of_a_producer, rate=50.0, trigger=120.0),
    "rising and falling": World(shape=by_day, rate=300.0),
    "skewed keys": World(skew={0: 5.0}, trigger=30.0),
    "some bad records": World(rejects=0.02),
    "almost nothing": World(rate=0.01, partitions=2, rejects=0.3),
    "nearly at its limit": World(rate=1000.0, capacity=5500.0),
    "short retention": World(retention=120.0, trigger=10.0),
}


@pytest.mark.parametrize("name", NOISES)
def test_hours_of_healthy_noise_raise_nothing(name: str) -> None:
    assert NOISES[name].polls(HOUR + 60) == []


def test_a_burst_that_a_batch_cannot_take_is_told_within_two_polls() -> None:
    world = World()
    assert world.polls(30) == []
    world.arrive(1_000_000.0)
    assert "burst" in world.polls(2)
    assert world.polls(4) == []


def test_a_stuck_batch_is_told_within_two_polls_of_being_late() -> None:
    world = World()
    world.polls(30)
    world.stuck = True
    late = 3 * max(20.0, *world.figures._lengths)
    assert "stuck_batch" not in world.polls(int(late / POLL) - 1)
    assert "stuck_batch" in world.polls(3)
    world.stuck = False
    world.polls(30)
    assert "stuck_batch" not in world.alarms.active


def test_a_sink_that_is_away_is_told_within_two_polls() -> None:
    world = World()
    world.polls(30)
    world.stopped = True
    world._tell(waiting="the table does not answer.", waiting_since=world.at)
    world.figures.take(Waiting(pipeline="p", cause="the table does not answer.", pause_seconds=1.0, attempt=1))
    assert world.polls(2) == ["waiting"]
    world.stopped = False
    world._tell(waiting="", waiting_since=None)
    world.polls(1)
    assert world.alarms.active == ()


def test_growth_is_told_and_is_over_when_it_is_worked_off() -> None:
    world = World(capacity=5000.0)
    world.polls(60)
    world.capacity = 600.0
    assert "lag_growing" in world.polls(60)
    world.capacity = 50_000.0
    world.polls(90)
    assert "lag_growing" not in world.alarms.active


def test_a_hot_partition_that_is_behind_is_told() -> None:
    world = World(limit=20_000)
    world.polls(30)
    world.arrive(400_000.0, [2])
    told = world.polls(2)
    assert "hot_partition" in told


def test_records_about_to_be_deleted_are_told_before_and_after() -> None:
    world = World(retention=600.0)
    world.polls(30)
    world.stuck = True
    told = world.polls(int(600.0 / POLL) - 3)
    assert "retention" in told
    assert "records_gone" not in told
    [alert] = [change for change in world.changes if change.rule.name == "retention"]
    assert 200.0 < alert.finding.value < 400.0
    assert "records_gone" in world.polls(20)


def test_many_rejects_are_told_with_their_code() -> None:
    world = World()
    world.polls(60)
    world.rejects = 0.5
    assert world.polls(12) == ["reject_rate"]
    [alert] = world.changes
    assert alert.finding.subject == "wrong_type"


def test_silence_is_told_once_it_is_known_what_is_usual() -> None:
    world = World()
    world.polls(HOUR + 10)
    world.rate = 0.0
    assert "no_data" in world.polls(100)
    early = World()
    early.polls(60)
    early.rate = 0.0
    assert early.polls(100) == []


def test_many_small_files_are_told() -> None:
    world = World(trigger=1.0)
    assert world.polls(HOUR) == ["small_files"]
    [change] = world.changes
    assert change.finding.text.endswith("files in the last hour, of 100 KB on average")


def test_a_run_that_failed_is_told() -> None:
    world = World()
    world.polls(3)
    world._tell(ended="failed", error="the disk is full")
    assert world.polls(1) == ["run_failed"]


def looked(alarms: Alarms, metric: str, values: list[float]) -> list[tuple[int, bool]]:
    """(look, raised) of every change, a look every ten seconds."""
    made = []
    for number, value in enumerate(values):
        readings: Readings = {metric: {("a",): value}} if METRICS[metric].labels else {metric: {(): value}}
        made += [(number, change.raised) for change in alarms.look(readings, number * POLL)]
    return made


def test_a_threshold_must_hold_for_its_time_and_is_over_after_the_same_time() -> None:
    alert = Alert(name="behind", when="lag_seconds > 1 minutes", for_=Duration("20 seconds"))
    alarms = Alarms([rule for rule in rules_of((alert,)) if rule.name == "behind"])
    values = [0, 70, 70, 0, 70, 70, 70, 70, 0, 70, 0, 0, 0, 0]
    assert looked(alarms, "lag_seconds", [float(value) for value in values]) == [(6, True), (12, False)]


def test_clear_has_a_bar_of_its_own() -> None:
    alert = Alert(name="a", when="lag_rows > 100", for_=Duration("1 milliseconds"), clear="lag_rows < 10")
    alarms = Alarms([rule for rule in rules_of((alert,)) if rule.name == "a"])
    assert looked(alarms, "lag_rows", [200, 200, 50, 50, 200, 50, 5]) == [(1, True), (6, False)]


def test_a_counter_is_compared_by_its_growth_a_second() -> None:
    alert = Alert(name="a", when="rows_rejected > 5", for_=Duration("1 milliseconds"))
    alarms = Alarms([rule for rule in rules_of((alert,)) if rule.name == "a"])
    slow = [1e6 + 40.0 * number for number in range(60)]
    assert looked(alarms, "rows_rejected", slow) == []
    quick = [slow[-1] + 100.0 * number for number in range(60)]
    quick_alarms = Alarms(alarms.rules)
    assert looked(quick_alarms, "rows_rejected", quick) == [(2, True)]


def test_never_silences_a_built_in_alert_and_a_threshold_replaces_its_own() -> None:
    silent = rules_of((Alert(name="burst", when="never"),))
    assert [rule.name for rule in silent] == [name for name in BUILT_IN if name != "burst"]
    [mine] = [rule for rule in rules_of((Alert(name="burst", when="lag_rows > 5"),)) if rule.name == "burst"]
    [known] = [rule for rule in KNOWN if rule.name == "burst"]
    assert (mine.when, mine.cause, mine.for_seconds) == ("lag_rows > 5", known.cause, 60.0)
    [told] = [rule for rule in rules_of((Alert(name="burst", notify=("ops",)),)) if rule.name == "burst"]
    assert (told.test, told.notify) == (known.test, ("ops",))


def test_the_value_that_is_farthest_beyond_is_the_one_that_is_told() -> None:
    test = threshold(Condition.of("lag_seconds >= 5 minutes"))
    found = test({"lag_seconds": {("a",): 400.0, ("b",): 7200.0, ("c",): 1.0}})
    assert found == Finding("lag_seconds of b is 2.0 h", 7200.0, "b")
    least = threshold(Condition.of("file_bytes < 2 MB"))
    assert least({"file_bytes": {(): 1e6}}) == Finding("file_bytes is 1,000,000", 1e6)
    assert least({}) is None


def test_an_alert_that_stays_is_told_once() -> None:
    rule = Rule("a", lambda _readings: Finding("x", 1.0), "", "", "")
    alarms = Alarms([rule])
    assert [len(alarms.look({}, float(at))) for at in range(5)] == [1, 0, 0, 0, 0]
    assert [(each.name, since) for each, _, since in alarms.standing()] == [("a", 0.0)]
