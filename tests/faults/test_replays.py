"""A4, A14, A15: a batch that comes again in another shape, a week later, or twenty times at once: its rows are once."""

from __future__ import annotations

import itertools
import json
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from penstock.dev.records import read_all
from penstock.dev.topics import admin
from penstock.errors import PenstockError
from penstock.testing.kafka import DevKafka, ensure_topic
from penstock.testing.shop import Shop

_numbers = itertools.count(1)
WEEK_AND_A_DAY = 8 * 86_400
SHUFFLES = """
import pyspark.sql.functions as F
from pyspark.sql import DataFrame

def shuffled(rows: DataFrame) -> DataFrame:
    return rows.repartition("customer_id").withColumn("luck", F.rand())
"""
SHAPES = [
    {"spark.sql.shuffle.partitions": "1", "spark.sql.adaptive.enabled": "false"},
    {"spark.sql.shuffle.partitions": "7", "spark.sql.adaptive.enabled": "true"},
    {"spark.master": "local[1,4]", "spark.sql.shuffle.partitions": "3"},
    {"spark.master": "local[3,4]", "spark.sql.adaptive.coalescePartitions.enabled": "false"},
]
PLACES = ["after:pass", "after:freeze", "after:tables:lake", "before:topics:commit", "after:topics:commit"]


@pytest.fixture
def shop(kafka: DevKafka, tmp_path: Path) -> Callable[..., Shop]:
    def make(**settings: Any) -> Shop:
        return Shop(tmp_path, kafka.bootstrap, f"again{next(_numbers)}", **settings)

    return make


def _killed(case: Shop, place: str) -> None:
    killed = case.run(env={"PENSTOCK_FAILPOINT": place})
    assert killed.popen.returncode == -signal.SIGKILL, f"{place} was not reached:\n{killed.text}"


def _goes_on(case: Shop, what: str, read: int) -> None:
    began = time.monotonic()
    last = case.start("--once")
    last.wait_for("batch_committed")
    recovered = time.monotonic() - began
    assert last.end() == 0, last.text
    verdict = case.judged()
    print(f"{what}: {verdict}; first batch after {recovered:.1f} s")
    assert verdict.exact, str(verdict)
    assert verdict.read == read


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_batch_replayed_by_another_plan_is_the_same_batch(shop: Callable[..., Shop]) -> None:
    """A4: other partitions, other slots, adaptive plans on and off; the step shuffles and is not deterministic."""
    case = shop(steps=[{"python": "frames:shuffled"}])
    (case.folder / "frames.py").write_text(SHUFFLES)
    case.produce(1500)
    for place, shape in zip(PLACES, itertools.cycle(SHAPES), strict=False):
        case.spec["spark"] = shape
        case.write()
        _killed(case, place)
        case.produce(500)
    case.spec["spark"] = {}
    case.write()
    _goes_on(case, "A4, five replays by other plans", 1500 + 500 * len(PLACES))


def _age(case: Shop) -> None:
    """What the clock would have done in a week: everything that was written down is older by so much."""
    for path in case.state.glob("stage/g*/*/manifest-*.json"):
        body = json.loads(path.read_text())
        path.write_text(json.dumps({**body, "created_at": body["created_at"] - WEEK_AND_A_DAY}))
    for path in case.state.glob("ledger/g*/*/*.json"):
        for key in ("created_at", "committed_at"):
            body = json.loads(path.read_text())
            if key in body:
                path.write_text(json.dumps({**body, key: "2026-01-01T00:00:00+00:00"}))


def _forget_the_marker(case: Shop) -> None:
    """What the broker does after a week."""
    client = admin(case.bootstrap)
    groups = [group.group_id for group in client.list_consumer_groups().result(30).valid]
    markers = [group for group in groups if group.startswith(f"{case.spec['pipeline']}.g")]
    assert markers, groups
    for done in client.delete_consumer_groups(markers).values():
        done.result(30)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "place", ["after:freeze", "after:tables:lake", "after:topics:commit@1", "after:topics:commit@2"]
)
def test_a_batch_that_was_open_for_a_week_is_finished_once(shop: Callable[..., Shop], place: str) -> None:
    """A14, while the marker is there: computed anew if nobody has it, finished as it was frozen if somebody does.

    The first transaction sets the marker, the second is that of the batch.
    """
    case = shop()
    case.produce(1000)
    _killed(case, place)
    case.produce(500)
    _age(case)
    _goes_on(case, f"A14, {place}, a week later", 1500)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("place", "words"),
    [("after:topics:commit@2", "the marker was begun, but group"), ("after:topics:commit@3", "the marker has expired")],
    ids=["before the first outcome", "after it"],
)
def test_a_batch_that_was_open_for_a_week_without_its_marker_is_refused(
    shop: Callable[..., Shop], place: str, words: str
) -> None:
    """A14, when the broker has forgotten the marker: whether the batch is in the topics cannot be known any more."""
    case = shop()
    case.produce(2000)
    _killed(case, place)
    before = case.found()
    _age(case)
    _forget_the_marker(case)
    refused = case.run()
    assert refused.popen.returncode == 3, refused.text
    assert words in refused.text
    assert case.found() == before, "nothing was written"


@pytest.mark.timeout(300)
def test_twenty_attempts_of_one_transaction_at_once_leave_one_copy(kafka: DevKafka, tmp_path: Path) -> None:
    """A15: each takes the transactional id from the one before; one gets through, the others see that it did."""
    from tests.broker.kafka_sink_kit import Shop as Small
    from tests.broker.kafka_sink_kit import key, share_of

    topic = "storm"
    ensure_topic(kafka.bootstrap, topic, 2)
    small = Small(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": topic}})
    first = small.ready()
    told: list[str] = []
    began = time.monotonic()
    for batch_id in range(3):
        shares = share_of(first, small, range(batch_id * 100, batch_id * 100 + 100))

        def attempt(_number: int, shares: Any = shares, batch_id: int = batch_id) -> str:
            committer = small.committer()
            try:
                known = batch_id - 1 if batch_id else None
                return committer.commit(shares, key(committer, batch_id), {}, known)["alerts"].how
            except PenstockError as error:
                return type(error).__name__

        with ThreadPoolExecutor(20) as pool:
            told += pool.map(attempt, range(20))
        assert first.commit(shares, key(first, batch_id), {}, batch_id - 1 if batch_id else None)
    ids = sorted(json.loads(record.value or b"")["id"] for record in read_all(kafka.bootstrap, topic))
    lost, doubled = 300 - len(set(ids)), len(ids) - len(set(ids))
    seconds = time.monotonic() - began
    print(f"A15, 20 attempts of 3 batches: lost {lost}, doubled {doubled}; {seconds:.1f} s; {sorted(set(told))}")
    assert ids == list(range(300))
