"""A real pipeline under a load that varies, for minutes: no built-in alert is raised, and the doctor finds nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from penstock.observe.events import AlertRaised, BatchCommitted, LagMeasured
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka
from penstock.testing.meanwhile import meanwhile
from penstock.testing.runs import running
from tests.broker.cases import ids_case
from tests.broker.doctor_kit import report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLLS, LOOKS = 20, int(os.environ.get("LOOKS", "12"))
"""Polls between two looks of the doctor, one a second; and how often it looks:  LOOKS=180 pytest ...  for an hour."""


def sent(noise: Random, number: int) -> Iterator[bytes]:
    """What comes at once: mostly a few records, now and then none or many, one in a hundred of them bad."""
    many = noise.choice([0, 20, 60, 120, 200]) + (4000 if number % 90 == 60 else 0)
    return (b"oops" if noise.random() < 0.01 else b'{"id": %d}' % each for each in range(many))


@contextmanager
def noise(bootstrap: str, topic: str) -> Iterator[None]:
    """Records come and go, by no rule, until the block ends; some partitions get twice what others do."""
    random, producer = Random(11), Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})

    def make(number: int) -> None:
        for value in sent(random, number + 1):
            producer.produce(topic, value, partition=random.choice([0, 0, 1, 2, 3, 3]))
        producer.flush(30)

    with meanwhile(make, lambda: random.choice([0.1, 0.3, 0.5, 3.0])):
        yield


@pytest.mark.slow  # four minutes
@pytest.mark.timeout(600 + 30 * LOOKS)
def test_minutes_of_varied_load_raise_no_alert_and_the_doctor_finds_nothing(
    spark: SparkSession, kafka: DevKafka, topic: Callable[..., str], tmp_path: Path
) -> None:
    name, out = topic("noise", partitions=4), topic("out", partitions=1)
    sinks = {"lake": {"delta": {"table": "./lake/t"}}, "out": {"where": "id % 2 = 0", "kafka": {"topic": out}}}
    case = ids_case(
        tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}", sinks=sinks, observe={"poll": "1 second"},
        trigger={"every": "6 seconds"},
    )  # fmt: skip
    with running(spark, case) as told, noise(kafka.bootstrap, name):
        for look in range(1, LOOKS + 1):
            wait_until(lambda: len(told.of(LagMeasured)) >= POLLS * look or told.error, f"look {look}")  # noqa: B023
            assert told.error is None, told.error
            assert report(case).findings == (), look
    assert told.of(AlertRaised) == []
    assert len(told.of(BatchCommitted)) >= LOOKS
