"""The governor's law against loads: what batches of a simulated pipeline come to when it chooses their size."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.pace.law import FIRST_ROWS, Decision, Goal, Learned, Observation, decide, first, resumed
from penstock.pace.memory import recall, remember

MILLION = 1_000_000
Over = Callable[[float], float]
"""A quantity as it changes with the seconds that have passed."""


@dataclass(frozen=True)
class Load:
    """A pipeline in numbers: what batches cost, and what comes in."""

    rate: Over
    """Rows a second that it gets through."""
    fixed: Over = lambda _now: 0.3
    """Seconds of a batch without rows."""
    arriving: Over = lambda _now: 0.0
    backlog: int = 0
    noise: float = 0.0
    seed: int = 1


@dataclass(frozen=True)
class Batch:
    at: float
    rows: int
    seconds: float
    left: int
    decision: Decision


def always(value: float) -> Over:
    return lambda _now: value


def simulate(load: Load, goal: Goal, batches: int = 40, known: Learned | None = None) -> list[Batch]:
    dice, now, backlog = random.Random(load.seed), 0.0, load.backlog
    known = known or first(goal)
    made: list[Batch] = []
    for _ in range(batches):
        limit, rows = known.limit, min(backlog, known.limit)
        seconds = (load.fixed(now) + rows / load.rate(now)) * dice.lognormvariate(0, load.noise)
        lasts = max(seconds, goal.every)
        seen = Observation(rows, seconds, limit, backlog - rows, load.arriving(now))
        known, decision = decide(goal, known, seen)
        made.append(Batch(now, rows, seconds, backlog - rows, decision))
        backlog = int(backlog - rows + load.arriving(now) * lasts)
        now += lasts
    return made


def test_a_cold_backlog_of_ten_million_starts_small_and_grows_without_overshoot() -> None:
    goal = Goal(20, 10 * MILLION)
    made = simulate(Load(always(80_000), backlog=10 * MILLION), goal, batches=12)
    assert made[0].rows == FIRST_ROWS
    assert max(batch.seconds for batch in made) <= 1.2 * 20
    assert sum(batch.rows for batch in made) == 10 * MILLION
    whole = [batch for batch in made if batch.left]
    assert all(batch.seconds >= 0.75 * 20 for batch in whole[5:]), "it found its pace within five batches"


@pytest.mark.parametrize("rows_a_second", [400, 3_000, 50_000, 400_000])
def test_whatever_the_pipeline_does_a_second_the_target_is_found(rows_a_second: int) -> None:
    made = simulate(Load(always(rows_a_second), backlog=10**9), Goal(20, 10**8), batches=25)
    assert max(batch.seconds for batch in made[1:]) <= 1.2 * 20
    assert all(batch.seconds >= 0.75 * 20 for batch in made[15:])


def test_a_cold_first_batch_does_not_keep_the_rest_small() -> None:
    warming = Load(lambda now: 2_500 if now < 1 else 100_000, backlog=10 * MILLION)
    made = simulate(warming, Goal(20, MILLION), batches=6)
    assert made[5].rows == MILLION


def test_when_the_sink_gets_twice_as_slow_the_second_batch_after_is_within_the_target_again() -> None:
    load = Load(lambda now: 100_000 if now < 100 else 50_000, backlog=10**8)
    made = simulate(load, Goal(20, 10 * MILLION), batches=20)
    slow = next(number for number, batch in enumerate(made) if batch.at >= 100)
    assert made[slow].seconds > 1.4 * 20, "it was planned before anybody could know"
    assert all(batch.seconds <= 1.2 * 20 for batch in made[slow + 1 :])
    assert made[slow].decision.reason.startswith("too long")


def test_a_burst_is_taken_in_steps_and_never_beyond_max_rows() -> None:
    burst = Load(always(150_000), arriving=lambda now: 500_000 if 200 <= now < 260 else 1_000)
    made = simulate(burst, Goal(20, MILLION, every=10), batches=80)
    before = [batch.rows for batch in made if batch.at <= 200]
    during = [batch for batch in made if batch.at > 200 and batch.left]
    assert max(before) == 10_000
    assert during[0].rows <= 8 * FIRST_ROWS, "nothing was known of such batches"
    assert max(batch.rows for batch in made) == MILLION
    assert max(batch.seconds for batch in made) <= 20
    assert made[-1].left == 0, "it has caught up"
    behind = [batch.decision.caught_up_in for batch in during if batch.at > 400]
    assert all(later < sooner for sooner, later in pairwise(behind) if sooner and later)


def test_it_says_when_it_will_not_catch_up() -> None:
    drowning = Load(always(1_000), arriving=always(5_000), backlog=MILLION)
    made = simulate(drowning, Goal(20, MILLION), batches=10)
    assert made[-1].decision.caught_up_in is None
    assert made[-1].decision.behind


def test_the_estimate_of_the_catch_up_comes_true() -> None:
    load = Load(always(50_000), arriving=always(10_000), backlog=30 * MILLION)
    made = simulate(load, Goal(20, 10 * MILLION), batches=80)
    done = next(batch.at for batch in made if batch.left == 0)
    middle = next(batch for batch in made if batch.at > done / 2)
    assert middle.decision.caught_up_in == pytest.approx(done - middle.at, rel=0.15)


@pytest.mark.parametrize("seed", range(8))
def test_noise_does_not_make_it_swing(seed: int) -> None:
    noisy = Load(always(20_000), backlog=10**9, noise=0.15, seed=seed)
    settled = [batch.rows for batch in simulate(noisy, Goal(20, 10**8), batches=80)[10:]]
    changes = sum(one != other for one, other in pairwise(settled))
    assert changes <= 10, "of 70: it stays where it is, mostly"
    assert statistics.pstdev(settled) <= 0.2 * statistics.mean(settled)
    assert 0.75 * 380_000 <= statistics.mean(settled) <= 1.25 * 380_000


def test_idleness_changes_nothing() -> None:
    goal = Goal(20, MILLION)
    known = Learned(limit=70_000, rate=10_000.0, fixed=0.3)
    after, decision = decide(goal, known, Observation(rows=0, seconds=0.2, limit=70_000, backlog=0))
    assert (after.limit, after.rate, after.fixed) == (70_000, 10_000.0, 0.3)
    assert decision.caught_up_in == 0.0


def test_a_trickle_does_not_shrink_the_limit() -> None:
    made = simulate(Load(always(100_000), arriving=always(100.0)), Goal(20, MILLION), batches=50)
    assert made[-1].decision.limit == FIRST_ROWS


def test_a_cost_that_rows_do_not_cause_does_not_starve_the_pipeline() -> None:
    """Thirty seconds a batch however few rows: the target of twenty cannot be held, and smaller batches lose twice."""
    made = simulate(Load(always(20_000), fixed=always(30), backlog=10**9), Goal(20, 10**8), batches=25)
    assert made[-1].rows / made[-1].seconds > 0.4 * 20_000
    assert made[-1].seconds <= 3 * 30
    assert any("however few rows" in batch.decision.reason for batch in made)


def test_a_freshness_goal_holds_short_batches_and_catches_up_with_longer_ones() -> None:
    goal = Goal(0.25, 10**6, freshness=0.5)
    calm = simulate(Load(always(100_000), fixed=always(0.12), arriving=always(1_000)), goal, batches=50)
    assert all(batch.seconds <= 0.25 for batch in calm)
    load = Load(always(100_000), fixed=always(0.12), arriving=always(1_000), backlog=2 * MILLION)
    behind = simulate(load, goal, batches=150)
    caught = next(batch for batch in behind if batch.left == 0)
    assert caught.at < 2 * MILLION / 99_000 * 1.5, "overhead did not keep the backlog alive"
    assert all(batch.seconds <= 0.25 for batch in behind[-20:])


@given(
    st.integers(1, 10**7),
    st.lists(st.tuples(st.integers(0, 10**7), st.floats(0.0, 10_000), st.none() | st.integers(0, 10**9)), max_size=30),
    st.floats(0.05, 3600),
)
def test_no_history_makes_it_exceed_max_rows_or_stop(
    max_rows: int, history: list[tuple[int, float, int | None]], seconds: float
) -> None:
    goal = Goal(seconds, max_rows)
    known = first(goal)
    for rows, took, backlog in history:
        known, decision = decide(goal, known, Observation(rows, took, known.limit, backlog))
        assert 1 <= decision.limit <= max_rows
        assert decision.limit == known.limit
        assert known.fixed >= 0


def test_what_was_learned_is_remembered_and_taken_carefully(tmp_path: Path) -> None:
    path = tmp_path / "progress" / "pace.json"
    known = Learned(limit=640_000, rate=50_000.0, fixed=0.4, arriving=12.0, last=(1, 2.0))
    remember(path, known)
    assert recall(path) == Learned(limit=640_000, rate=50_000.0, fixed=0.4)
    assert resumed(Goal(20, MILLION), known).limit == 320_000
    assert resumed(Goal(20, 50_000), known).limit == 50_000, "the settings of now rule"
    assert resumed(Goal(2, MILLION), known).limit < 50_000


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"{}", b'{"format": 1, "limit": -5, "rate": 1, "fixed": 0}', b"\xff\xfe",
     b'{"format": 1, "limit": 5, "rate": "fast", "fixed": 0}', b'{"format": 9, "limit": 5, "rate": 1, "fixed": 0}',
     b'{"format": 1, "limit": 5, "rate": NaN, "fixed": 0}', b'{"format": 1, "limit": 1e999, "rate": 1, "fixed": 0}'],
)  # fmt: skip
def test_a_memory_that_makes_no_sense_is_forgotten(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "pace.json"
    path.write_bytes(body)
    assert recall(path) is None
    assert recall(tmp_path) is None, "a folder in its place"


def test_a_memory_that_cannot_be_written_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "progress").write_text("a file where the folder should be")
    remember(tmp_path / "progress" / "pace.json", Learned(limit=1, rate=1.0))
    remember(tmp_path / "new" / "pace.json", Learned(limit=1))
    assert not (tmp_path / "new").exists(), "nothing is known yet"


@pytest.mark.parametrize("waiting", [100, 20_000])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_a_cold_start_does_not_starve_a_pipeline_of_short_batches(waiting: int, noise: float) -> None:
    """Sixteen seconds for the first batch, of which a second was wanted; afterwards 0.75 s of each are fixed cost."""
    cold = Load(
        always(50_000),
        fixed=lambda now: 16.0 if now == 0 else 0.75,
        arriving=always(1_000),
        backlog=waiting,
        noise=noise,
    )
    made = simulate(cold, Goal(1.0, MILLION), batches=40)
    assert made[-1].left == 0, "it has caught up"
    assert made[10].left <= 20_000


def test_a_pipeline_that_falls_behind_is_tried_with_more_rows_now_and_then() -> None:
    drowning = Load(always(1_000), arriving=always(5_000), backlog=100_000)
    made = simulate(drowning, Goal(20, MILLION), batches=60)
    tried = [place for place, batch in enumerate(made) if "does not keep up" in batch.decision.reason]
    assert 1 <= len(tried) <= 3
    assert all(made[place + 2].seconds <= 1.2 * 20 for place in tried), "rows did take the time: back to the target"
