"""Faults of runs that are under way, or were: the doctor names each first. Real brokers, real tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from penstock.errors import PenstockError
from penstock.observe import history
from penstock.observe import now as present
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, produce
from penstock.testing.runs import run_once, running
from tests.broker.cases import values
from tests.broker.doctor_kit import Make, alerted, codes, first, flowing, report, spread, stepped, topic_of
from tests.spark.schema_change_kit import VERSIONS, framed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def test_an_alert_of_the_files_own_is_told_where_nothing_else_is_wrong(spark: SparkSession, make: Make) -> None:
    case = make(alerts=[{"name": "old", "when": "run_seconds > 0", "for": "1 second"}])
    with running(spark, case) as told:
        alerted(told, "old")
        found = first(report(case))
    assert (found.code, "`old`" in found.cause) == ("alert_raised", True), found


# falling behind


def grows(case: Case) -> bool:
    """Has the run told that it falls behind, and are batches of it in the history?"""
    told = present.read(case.state)
    growing = told is not None and told.lag is not None and told.lag.total and told.lag.total.trend == "growing"
    return bool(growing and history.batches(case.state).num_rows)


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


@pytest.mark.slow  # sixty batches
def test_batches_of_one_row_after_another_are_too_frequent(spark: SparkSession, make: Make, kafka: DevKafka) -> None:
    case = make(partitions=1, pace={"max_rows": 1})
    produce(kafka.bootstrap, topic_of(case), values(0, 70))
    run_once(spark, case)
    found = first(report(case))
    assert (found.code, "batches are too frequent" in found.cause) == ("too_frequent", True), found
