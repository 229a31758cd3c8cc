"""What the alerts are for is told within two polls of a real run, and the doctor names it first."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.dev.ports import free_port
from penstock.observe.events import Waiting
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, produce
from penstock.testing.runs import Told, running
from tests.broker.cases import values
from tests.broker.doctor_kit import (
    Make,
    alerted,
    first,
    flowing,
    polls_before,
    report,
    since_of,
    spread,
    stepped,
    topic_of,
)
from tests.broker.held_kit import HELD
from tests.spark.schema_change_kit import framed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
