"""Two tables, two topics, dead letters twice: killed at every step of a batch and of its transaction, and at random.

Each case prints what was lost and doubled and how long the next run took to its first committed batch.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.testing.kafka import DevKafka
from penstock.testing.shop import Shop, watching

STEPS = ["intent", "pass", "conserve", "freeze", "tables", "topics", "outcome"]
TRANSACTION = [f"topics:{step}" for step in ("fence", "check", "produce", "flush", "marker", "show", "commit")]
PLACES = [
    *(f"{when}:{step}" for step in [*STEPS, *TRANSACTION] for when in ("before", "after")),
    *(f"after:tables:{name}" for name in ("dead_letters", "lake", "big")),
    "before:return",
]
QUICK = ["after:tables:lake", "before:topics:commit", "after:topics:commit"]
RUNS = int(os.environ.get("RUNS", "1"))
_numbers = itertools.count(1)


@pytest.fixture
def shop(kafka: DevKafka, tmp_path: Path) -> Callable[..., Shop]:
    def make(**settings: Any) -> Shop:
        return Shop(tmp_path, kafka.bootstrap, f"shop{next(_numbers)}", **settings)

    return make


def _live_through(case: Shop, places: list[str]) -> None:
    case.produce(3000)
    recovered = []
    with watching(case) as watched:
        for number, place in enumerate(places):
            killed = case.run(env={"PENSTOCK_FAILPOINT": f"{place}@{1 + number % 2}"})
            assert killed.popen.returncode == -signal.SIGKILL, f"{place} was not reached:\n{killed.text}"
            case.produce(1500)
        began = time.monotonic()
        last = case.start("--once")
        last.wait_for("batch_committed")
        recovered.append(time.monotonic() - began)
        assert last.end() == 0, last.text
    verdict = case.judged()
    print(f"{len(places)} kills: {verdict}; first batch after {max(recovered):.1f} s; {watched.reads} looks")
    assert verdict.exact, str(verdict)
    assert verdict.read == 3000 + 1500 * len(places)
    assert watched.tables == []
    for sink, seen in watched.seen.items():
        assert max(seen.values()) == 1, f"a reader of {sink} saw a record twice"


def test_a_run_killed_around_its_transaction_loses_and_doubles_nothing_anywhere(shop: Callable[..., Shop]) -> None:
    _live_through(shop(), QUICK)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_run_killed_at_every_step_loses_and_doubles_nothing_anywhere(shop: Callable[..., Shop]) -> None:
    for _ in range(RUNS):
        _live_through(shop(), PLACES)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_run_killed_at_random_moments_loses_and_doubles_nothing_anywhere(shop: Callable[..., Shop]) -> None:
    luck = random.Random(23)
    case = shop(pace={"max_rows": 2000})
    case.produce(5000)
    slowest = 0.0
    with watching(case) as watched:
        for _ in range(20 * RUNS):
            began = time.monotonic()
            process = case.start()
            process.wait_for("batch_committed")
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(luck.uniform(0, 4))  # the moment is the fault: it must not be aligned with anything
            process.kill()
            case.produce(4000)
        assert case.run().popen.returncode == 0
    verdict = case.judged()
    print(f"{20 * RUNS} random kills: {verdict}; slowest first batch after {slowest:.1f} s")
    assert verdict.exact, str(verdict)
    assert watched.tables == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_driver_that_slept_through_its_transaction_writes_nothing_more(shop: Callable[..., Shop]) -> None:
    """F9: stopped in the middle of its transaction for longer than it may take; another one finished meanwhile."""
    case = shop()
    case.spec["sinks"]["feed"]["kafka"]["timeout"] = "10 seconds"
    case.spec["sinks"]["alarm"]["kafka"]["timeout"] = "10 seconds"
    case.write()
    case.produce(3000)
    sleeper = case.start("--once", env={"PENSTOCK_FAILPOINT": "stop:before:topics:marker"})
    sleeper.wait_for("batch_started")
    state = Path(f"/proc/{sleeper.popen.pid}/stat")
    _wait_for_stop(state)
    (case.state / "lease").rename(case.state / "lease.of-the-sleeper")  # safety does not rest on it
    other = case.run()
    assert other.popen.returncode == 0, other.text
    sleeper.signal(signal.SIGCONT)
    sleeper.end()
    case.produce(500)
    assert case.run().popen.returncode == 0
    verdict = case.judged()
    print(f"a sleeping driver: {verdict}; it ended with {sleeper.popen.returncode}")
    assert verdict.exact, str(verdict)


def _wait_for_stop(stat: Path) -> None:
    from penstock.testing.harness import wait_until

    wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "the driver was stopped")
