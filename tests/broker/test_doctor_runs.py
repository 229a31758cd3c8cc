"""Faults planted on runs that are under way, by a real broker, a real network and a real disk: the doctor names each
first, and what the alerts are for is told within two polls."""

from __future__ import annotations

import itertools
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.dev.ports import free_port
from penstock.errors import PenstockError
from penstock.observe import history
from penstock.observe import now as present
from penstock.observe.events import Waiting
from penstock.testing.harness import DEADLINE_SECONDS, Case, wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, produce
from penstock.testing.proxy import Api, Proxy, proxied_kafka
from penstock.testing.runs import Told, run_once, running
from penstock.testing.slow_disk import under
from tests.broker.cases import ids_case, values
from tests.broker.doctor_kit import alerted, codes, first, flowing, polls_before, report, spread
from tests.broker.test_lag_of_runs import HELD
from tests.spark.test_schema_change import VERSIONS, framed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLL = {"poll": "500 milliseconds"}
HEAVY = """
import time

import pyarrow as pa


def heavy(rows: pa.RecordBatch) -> pa.RecordBatch:
    time.sleep(rows.num_rows * 0.01)
    return rows
"""
FAILS = """
import pyarrow as pa


def fails(rows: pa.RecordBatch) -> pa.RecordBatch:
    raise ValueError("planted")
"""
_numbers = itertools.count(1)
Make = Callable[..., Case]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DevKafka, Proxy]]:
    with proxied_kafka(tmp_path_factory.mktemp("network")) as found:
        yield found


@pytest.fixture
def kafka(network: tuple[DevKafka, Proxy]) -> DevKafka:
    return network[0]


@pytest.fixture
def proxy(network: tuple[DevKafka, Proxy]) -> Iterator[Proxy]:
    yield network[1]
    network[1].reset()


@pytest.fixture
def make(kafka: DevKafka, tmp_path: Path) -> Make:
    """Makes a pipeline on a topic of its own, and the topic `out-NAME`."""

    def made(partitions: int = 4, config: dict[str, str] | None = None, **settings: Any) -> Case:
        name = f"run-{next(_numbers)}"
        ensure_topic(kafka.bootstrap, name, partitions, config or {})
        ensure_topic(kafka.bootstrap, f"out-{name}", 1)
        return ids_case(tmp_path, kafka.bootstrap, name, pipeline=name, **{"observe": POLL, **settings})

    return made


def stepped(case: Case, code: str, function: str) -> Case:
    """The case with a Python step of this code."""
    module = f"step_{case.spec['pipeline'].replace('-', '_')}"
    (case.folder / f"{module}.py").write_text(code)
    case.spec["steps"] = [{"python": f"{module}:{function}"}]
    case.write()
    return case


def topic_of(case: Case) -> str:
    return str(case.spec["pipeline"])


def out_through(case: Case, proxy: Proxy) -> Case:
    """The case with a second sink: a topic that is reached through the proxy."""
    case.spec["sinks"]["out"] = {"kafka": {"topic": f"out-{topic_of(case)}", "brokers": [proxy.bootstrap]}}
    case.write()
    return case


def grows(case: Case) -> bool:
    """Has the run told that it falls behind, and are batches of it in the history?"""
    told = present.read(case.state)
    growing = told is not None and told.lag is not None and told.lag.total and told.lag.total.trend == "growing"
    return bool(growing and history.batches(case.state).num_rows)


# what ends with the run, or is seen in it


def test_a_step_that_raises_is_the_error_of_the_run_that_failed(
    spark: SparkSession, make: Make, kafka: DevKafka
) -> None:
    case = stepped(make(), FAILS, "fails")
    produce(kafka.bootstrap, topic_of(case), values(0, 5))
    with pytest.raises(PenstockError):
        run_once(spark, case)
    found = first(report(case))
    assert (found.code, "planted" in found.cause + "".join(found.evidence)) == ("run_failed", True), found


def test_many_bad_records_are_told_with_their_code(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    case = make()
    produce(kafka.bootstrap, topic_of(case), [*values(0, 100), *[b"oops"] * 40])
    run_once(spark, case)
    found = first(report(case))
    assert (found.code, "most of them as invalid_json" in found.cause) == ("reject_rate", True), found


def test_records_of_a_schema_that_is_parked_are_told_before_the_rate_that_they_make(
    spark: SparkSession, make: Make, kafka: DevKafka
) -> None:
    case = make(decode={"avro": {}}, registry={"folder": "./schemas"})
    subject = case.folder / "schemas" / f"{topic_of(case)}-value"
    subject.mkdir(parents=True)
    for number in (1, 4):
        (subject / f"{number}.avsc").write_text(json.dumps(VERSIONS[number]))
        value = framed(number, id=1 if number == 1 else "x", note="n")
        produce(kafka.bootstrap, topic_of(case), [value] * 30, partition=0)
        run_once(spark, case)
    assert codes(report(case)) == ["schema_parked", "reject_rate"]


def test_a_topic_that_answers_late_is_the_slow_sink_by_name(spark: SparkSession, make: Make, proxy: Proxy) -> None:
    case = out_through(make(pace={"batch_target": "1 second"}), proxy)
    spread(proxy.bootstrap, topic_of(case), 4, 50)
    proxy.delay(Api.EndTxn, 4.0, of=topic_of(case))
    run_once(spark, case)
    found = first(report(case))
    assert (found.code, "the commit to the topic of sink out takes" in found.cause) == ("slow_sink", True), found
    assert any("the commit of a batch to each sink: out " in line for line in found.evidence), found


def test_an_alert_of_the_files_own_is_told_where_nothing_else_is_wrong(spark: SparkSession, make: Make) -> None:
    case = make(alerts=[{"name": "old", "when": "run_seconds > 0", "for": "1 second"}])
    with running(spark, case) as told:
        alerted(told, "old")
        found = first(report(case))
    assert (found.code, "`old`" in found.cause) == ("alert_raised", True), found


# what is alerted within two polls


def test_a_burst_is_alerted_and_told_first(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    case = make(pace={"max_rows": 500})
    with running(spark, case) as told, flowing(kafka.bootstrap, topic_of(case), 4, 5):
        told.wait_for_rows(200)
        spread(kafka.bootstrap, topic_of(case), 4, 5000)
        since = time.time()
        assert polls_before(told, "burst", since) <= 2
        found = first(report(case))
    assert (found.code, "much came at once" in found.cause) == ("burst", True), found


def test_a_hot_partition_is_alerted_and_told_first(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    case = make(pace={"max_rows": 500})
    with running(spark, case) as told, flowing(kafka.bootstrap, topic_of(case), 4, 5):
        told.wait_for_rows(200)
        produce(kafka.bootstrap, topic_of(case), values(0, 20_000), partition=2)
        since = time.time()
        assert polls_before(told, "hot_partition", since) <= 2
        found = first(report(case))
    assert (found.code, f"{topic_of(case)}-2 holds" in found.cause) == ("hot_partition", True), found


def held(case: Case, spark: SparkSession, kafka: DevKafka, look: Callable[[Told], None], **record: Any) -> None:
    """Looks while a batch hangs in its step, after a first one that did not."""
    go = case.folder / "go"
    stepped(case, HELD.format(go=str(go)), "held")
    go.touch()
    produce(kafka.bootstrap, topic_of(case), values(0, 20))
    try:
        with running(spark, case) as told:
            told.wait_for_rows(20)
            go.unlink()
            produce(kafka.bootstrap, topic_of(case), values(20, 400), **record)
            look(told)
            go.touch()
    finally:
        go.touch()


def test_a_topic_about_to_lose_records_is_alerted_and_told_first(
    spark: SparkSession, make: Make, kafka: DevKafka
) -> None:
    def look(told: Told) -> None:
        since = time.time()
        assert polls_before(told, "retention", since) <= 2
        found = first(report(case))
        assert (found.code, "begins to delete records" in found.cause) == ("retention", True), found

    case = make(config={"retention.ms": "3600000"})
    held(case, spark, kafka, look, timestamp_ms=int((time.time() - 40 * 60) * 1000))


def test_a_batch_that_hangs_is_alerted_and_told_first(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    def look(told: Told) -> None:
        alerted(told, "stuck_batch")
        found = first(report(case))
        assert (found.code, "hangs in the phase `pass`" in found.cause) == ("stuck_batch", True), found

    case = make(pace={"batch_target": "1 second"})
    held(case, spark, kafka, look)


def test_a_registry_that_is_away_is_waited_for_and_told_first(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    nowhere = {"url": f"http://127.0.0.1:{free_port()}", "timeout": "1 second"}
    case = make(decode={"avro": {}}, registry=nowhere)
    produce(kafka.bootstrap, topic_of(case), [framed(1, id=1, note="n")] * 5)
    with running(spark, case) as told:
        [waits] = wait_until(lambda: told.of(Waiting)[:1], "the run waits")
        assert polls_before(told, "waiting", since_of(case)) <= 2
        found = first(report(case))
    assert (found.code, "registry" in found.cause) == ("waiting", True), (found, waits)


def since_of(case: Case) -> float:
    """Since when the run waits, as it tells."""
    return float(wait_until(lambda: getattr(present.read(case.state), "waiting_since", None), "that it waits is told"))


@pytest.mark.slow  # a client has some patience with its broker
def test_a_sink_that_is_away_is_alerted_and_told_first(spark: SparkSession, make: Make, proxy: Proxy) -> None:
    case = out_through(make(), proxy)
    case.spec["sinks"]["out"]["kafka"]["timeout"] = "5 seconds"
    case.write()
    produce(proxy.bootstrap, topic_of(case), values(0, 20))
    with running(spark, case) as told:
        told.wait_for_rows(20)
        with proxy.cut_off():
            produce(str(case.spec["source"]["kafka"]["brokers"][0]), topic_of(case), values(20, 60))
            assert polls_before(told, "waiting", since_of(case)) <= 2
            found = report(case)
        told.wait_for_rows(60)
    assert codes(found)[:2] == ["broker_away", "waiting"], found
    assert f"no broker of {proxy.bootstrap} answers" in first(found).cause


# falling behind


def test_batches_that_are_cut_off_while_more_comes_are_told_by_their_cap(
    spark: SparkSession, make: Make, kafka: DevKafka
) -> None:
    case = make(pace={"max_rows": 100})
    with running(spark, case), flowing(kafka.bootstrap, topic_of(case), 4, 100):
        wait_until(lambda: grows(case), "it falls behind")
        found = first(report(case))
    assert (found.code, "cut off at 100 rows" in found.cause) == ("max_rows", True), found


@pytest.mark.slow  # growth shows after some batches of some seconds
def test_more_than_the_step_can_do_is_told(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    case = stepped(make(pace={"batch_target": "2 seconds"}), HEAVY, "heavy")
    spread(kafka.bootstrap, topic_of(case), 4, 200)
    with running(spark, case), flowing(kafka.bootstrap, topic_of(case), 4, 150):
        wait_until(lambda: grows(case), "it falls behind")
        found = first(report(case))
    assert (found.code, "too little to work with" in found.cause) == ("under_provisioned", True), found


def run_on_slow_disk(spark: SparkSession, case: Case, kafka: DevKafka, folder: Path, seconds: float) -> None:
    """Five batches by a process whose disk is slow below this folder; what was there before is made in peace."""
    produce(kafka.bootstrap, topic_of(case), values(0, 5))
    run_once(spark, case)
    shutil.rmtree(case.state / "progress")
    case.spec["pace"] = {"max_rows": 40, "batch_target": "1 second"}
    case.write()
    spread(kafka.bootstrap, topic_of(case), 4, 50)
    slow = case.start("--once", under=under(folder, seconds))
    try:
        assert slow.end(3 * DEADLINE_SECONDS) == 0, slow.text
    finally:
        slow.kill()


@pytest.mark.slow  # a process of its own, whose disk is slow
def test_a_table_on_a_slow_disk_is_told_from_the_one_beside_it(
    spark: SparkSession, make: Make, kafka: DevKafka
) -> None:
    case = make(sinks={"lake": {"delta": {"table": "./lake/t"}}, "slow": {"delta": {"table": "./slow/t"}}})
    run_on_slow_disk(spark, case, kafka, case.folder / "slow" / "t" / "_delta_log", 3.0)
    found = first(report(case))
    assert (found.code, "the commit to the table of sink slow takes" in found.cause) == ("slow_sink", True), found


@pytest.mark.slow  # the same
def test_a_state_on_a_slow_disk_is_told(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    case = make()
    run_on_slow_disk(spark, case, kafka, case.state, 1.5)
    found = first(report(case))
    assert (found.code, "its small files take" in found.cause) == ("slow_state", True), found


@pytest.mark.slow  # sixty batches
def test_batches_of_one_row_after_another_are_too_frequent(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    case = make(partitions=1, pace={"max_rows": 1})
    produce(kafka.bootstrap, topic_of(case), values(0, 70))
    run_once(spark, case)
    found = first(report(case))
    assert (found.code, "batches are too frequent" in found.cause) == ("too_frequent", True), found
