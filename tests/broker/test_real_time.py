"""Real time on a real broker: records pass from topic to topic, bad ones go to the dead letters."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engine.run import RunOptions, run
from penstock.errors import Refused
from penstock.observe.events import RunStarted, Streamed
from penstock.spec import load_pipeline
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, Record, produce, read_all
from penstock.testing.runs import Told, run_once, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]
SCHEMA = "id BIGINT NOT NULL, name STRING, amount DECIMAL(18,2), at TIMESTAMP, tag STRUCT<a: INT NOT NULL>"


def real_time_case(folder: Path, kafka: DevKafka, topics: dict[str, str], **settings: Any) -> Case:
    spec = {
        "pipeline": "p",
        "source": {"kafka": {"brokers": [kafka.bootstrap], "topics": [topics["in"]]}},
        "decode": {"json": {"schema": SCHEMA}},
        "checks": [{"name": "positive", "rule": "amount > 0"}],
        "steps": [{"select": ["*", "upper(name) AS loud", "100 / id AS share"]}],
        "sinks": {
            "out": {"kafka": {"topic": topics["out"], "key": "name", "delivery": "at_least_once"}},
            "large": {
                "where": "amount > 100",
                "kafka": {"topic": topics["large"], "value": "raw", "delivery": "at_least_once"},
            },
        },
        "dead_letters": {"kafka": {"topic": topics["dead"]}},
        "trigger": {"real_time": "5 seconds"},
        **settings,
    }
    return Case(folder, spec)


@pytest.fixture
def topics(topic: Topic) -> dict[str, str]:
    return {name: topic(name, partitions=2 if name == "in" else 1) for name in ("in", "out", "large", "dead")}


def good(number: int, amount: str = "1.50") -> bytes:
    return b'{"id": %d, "name": "n%d", "amount": %s, "at": "2026-11-01T10:00:00.5Z"}' % (
        number,
        number,
        amount.encode(),
    )


def headers(record: Record) -> dict[str, str]:
    return {name: (value or b"").decode() for name, value in record.headers}


@contextmanager
def in_real_time(spark: SparkSession, case: Case) -> Iterator[Told]:
    with running(spark, case) as told:
        wait_until(lambda: told.of(RunStarted) or told.error, "it runs")
        yield told


def arrived(kafka: DevKafka, topic: str, count: int) -> list[Record]:
    wait_until(lambda: len(read_all(kafka.bootstrap, topic)) >= count, f"{count} records in {topic}")
    return read_all(kafka.bootstrap, topic)


@pytest.mark.slow
def test_records_pass_and_bad_ones_go_to_the_dead_letters(
    spark: SparkSession, kafka: DevKafka, topics: dict[str, str], tmp_path: Path
) -> None:
    case = real_time_case(tmp_path, kafka, topics)
    bad = [
        b"oops",
        b"",
        b'{"id": 3, "amount": -1}',
        b'{"name": "x", "amount": 1}',
        b'{"id": 0, "amount": 1}',
        b"\xff{}",
    ]
    with in_real_time(spark, case) as told:
        produce(kafka.bootstrap, topics["in"], [good(1), good(2, "250.00"), *bad])
        out = arrived(kafka, topics["out"], 2)
        dead = arrived(kafka, topics["dead"], len(bad))
        wait_until(lambda: sum(event.read for event in told.of(Streamed)) >= 8, "the boundary behind them")
    rows = sorted((json.loads(record.value or b"") for record in out), key=lambda row: row["id"])
    at = "2026-11-01T10:00:00.500000Z"
    expected = {"id": 1, "name": "n1", "amount": 1.5, "at": at, "tag": None, "loud": "N1", "share": 100.0}
    assert rows[0] == expected
    assert {record.key for record in out} == {b"n1", b"n2"}
    assert headers(out[0])["penstock.topic"] == topics["in"]
    assert {headers(record)["penstock.pipeline"] for record in out} == {"p"}
    [large] = read_all(kafka.bootstrap, topics["large"])
    assert large.value == good(2, "250.00")
    reasons = {record.value: (headers(record)["penstock.stage"], headers(record)["penstock.code"]) for record in dead}
    assert reasons == {
        b"oops": ("decode", "invalid_json"),
        b"": ("decode", "empty"),
        b'{"id": 3, "amount": -1}': ("check", "positive"),
        b'{"name": "x", "amount": 1}': ("decode", "missing_field"),
        b'{"id": 0, "amount": 1}': ("step:step1", "step_failed"),
        b"\xff{}": ("decode", "invalid_utf8"),
    }
    counted = [event for event in told.of(Streamed) if event.read]
    assert sum(event.read for event in counted) == 8
    assert sum(event.rejected.get("positive", 0) for event in counted) == 1


def test_fewer_slots_than_partitions_are_refused(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    topics = {name: topic(name, partitions=5 if name == "in" else 1) for name in ("in", "out", "large", "dead")}
    case = real_time_case(tmp_path, kafka, topics)
    with pytest.raises(Refused, match="5 partitions and 2 slots"):
        run(load_pipeline(case.file), RunOptions(), lambda _event: None, threading.Event(), spark)


def test_real_time_has_no_once(spark: SparkSession, kafka: DevKafka, topics: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no end"):
        run_once(spark, real_time_case(tmp_path, kafka, topics))


def test_a_topic_that_is_not_there_is_refused(
    spark: SparkSession, kafka: DevKafka, topics: dict[str, str], tmp_path: Path
) -> None:
    case = real_time_case(tmp_path, kafka, {**topics, "out": "nowhere"})
    with pytest.raises(Exception, match="there is no topic `nowhere`"):
        run(load_pipeline(case.file), RunOptions(), lambda _event: None, threading.Event(), spark)
    assert "nowhere" not in read_names(kafka)


def read_names(kafka: DevKafka) -> list[str]:
    from penstock.sources.cluster import Cluster

    return list(Cluster(kafka.bootstrap).partitions())
