"""A real network and a real disk that are slow or away under a run: the doctor names the sink or the state first."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.testing.harness import DEADLINE_SECONDS, Case
from penstock.testing.kafka import DevKafka, produce
from penstock.testing.proxy import Api, Proxy, proxied_kafka
from penstock.testing.runs import run_once, running
from penstock.testing.slow_disk import under
from tests.broker.cases import values
from tests.broker.doctor_kit import Make, codes, first, polls_before, report, since_of, spread, topic_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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


def out_through(case: Case, proxy: Proxy) -> Case:
    """The case with a second sink: a topic that is reached through the proxy."""
    case.spec["sinks"]["out"] = {"kafka": {"topic": f"out-{topic_of(case)}", "brokers": [proxy.bootstrap]}}
    case.write()
    return case


def test_a_topic_that_answers_late_is_the_slow_sink_by_name(spark: SparkSession, make: Make, proxy: Proxy) -> None:
    case = out_through(make(pace={"batch_target": "1 second"}), proxy)
    spread(proxy.bootstrap, topic_of(case), 4, 50)
    proxy.delay(Api.EndTxn, 4.0, of=topic_of(case))
    run_once(spark, case)
    found = first(report(case))
    assert (found.code, "the commit to the topic of sink out takes" in found.cause) == ("slow_sink", True), found
    assert any("the commit of a batch to each sink: out " in line for line in found.evidence), found


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
