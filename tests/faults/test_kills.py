"""Kill -9 before and after every numbered step of a batch: nothing is lost, nothing doubled.

One pipeline lives through all of it. Each run is killed at its own failpoint; the next one must find its way from
whatever was left. At the end, and at some places on the way, the oracle counts.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

STEPS = ["intent", "pass", "conserve", "freeze", "tables", "outcome"]
PLACES = [
    *(f"{when}:{step}" for step in STEPS for when in ("before", "after")),
    "after:tables:dead_letters",
    "after:tables:lake",
    "before:return",
]
QUICK = ["after:pass", "after:freeze", "after:tables:dead_letters", "after:tables:lake", "before:return"]


def _live_through(case: Any, places: list[str]) -> None:
    case.produce(4000)
    for number, place in enumerate(places):
        killed = case.run(env={"PENSTOCK_FAILPOINT": f"{place}@{1 + number % 2}"})
        assert killed.popen.returncode == -signal.SIGKILL, f"{place} was not reached:\n{killed.text}"
        case.produce(500)
    done = case.run()
    assert done.popen.returncode == 0, done.text
    counted = case.counted()
    assert counted.exact, (counted.lost[:5], counted.doubled[:5], counted.misjudged[:5])
    assert counted.read == 4000 + 500 * len(places)
    assert counted.rejected, "some records were bad"


@pytest.mark.slow
def test_a_run_killed_at_the_places_that_matter_loses_and_doubles_nothing(payments_case: Callable[..., Any]) -> None:
    _live_through(payments_case(pace={"max_rows": 1000}), QUICK)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_killed_before_and_after_every_step_loses_and_doubles_nothing(
    payments_case: Callable[..., Any],
) -> None:
    _live_through(payments_case(pace={"max_rows": 1000}), PLACES)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_run_killed_at_random_moments_loses_and_doubles_nothing(payments_case: Callable[..., Any]) -> None:
    luck = random.Random(11)
    case = payments_case(pace={"max_rows": 2000})
    case.produce(5000)
    for _ in range(12):
        process = case.start()
        process.wait_for("run_started")
        time.sleep(luck.uniform(3, 9))  # the moment is the fault: it must not be aligned with anything
        process.kill()
        case.produce(5000)
    assert case.run().popen.returncode == 0
    counted = case.counted()
    assert counted.exact, (counted.lost[:5], counted.doubled[:5], counted.misjudged[:5])
    assert counted.read == 65_000


@pytest.mark.slow
def test_without_its_key_the_same_kill_doubles_rows(payments_case: Callable[..., Any]) -> None:
    """The negative control: the fault bites, and the oracle sees it."""
    case = payments_case()
    case.produce(300)
    killed = case.run(env={"PENSTOCK_FAILPOINT": "before:outcome"})
    assert killed.popen.returncode == -signal.SIGKILL
    _forget_the_batch(case)
    assert case.run().popen.returncode == 0
    counted = case.counted()
    assert len(counted.doubled) == 300


def _forget_the_batch(case: Any) -> None:
    """Take the idempotence key out of the tables' logs, and the manifest away: what a plain append would leave."""
    shutil.rmtree(case.state / "stage")
    for log in [*case.table().glob("_delta_log/*.json"), *case.dead_letters.glob("_delta_log/*.json")]:
        lines = [line for line in log.read_text().splitlines() if "txn" not in json.loads(line)]
        log.write_text("\n".join(lines) + "\n")
