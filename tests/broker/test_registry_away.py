"""A registry that answers nobody: at the start, when a schema changes, and for as long as you like.

    REGISTRY_AWAY_SECONDS=600 pytest tests/broker/test_registry_away.py -k long

holds it up for ten minutes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.dev.oracle import rows
from penstock.observe.events import BatchCommitted, Recovered, SchemaChanged, Waiting
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka
from penstock.testing.registry import Apicurio, apicurio
from penstock.testing.runs import running
from tests.broker.schema_shop import ID, Shop, avro_case, optional, record, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]
FIRST, SECOND = record(ID, optional("name")), record(ID, optional("name"), optional("coupon"))
SHORT, LONG = 3.0, float(os.environ.get("REGISTRY_AWAY_SECONDS", "60"))


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apicurio]:
    with apicurio(tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.mark.parametrize("seconds", [SHORT, pytest.param(LONG, marks=[pytest.mark.slow, pytest.mark.timeout(0)])])
def test_a_registry_that_is_away_costs_time_and_nothing_else(
    spark: SparkSession, kafka: DevKafka, registry: Apicurio, topic: Topic, tmp_path: Path, seconds: float
) -> None:
    name = topic("away", 2)
    shop = Shop(kafka.bootstrap, registry.url)
    first = shop.sender(name, FIRST)
    first([{"name": "a"}] * 20)
    case = avro_case(tmp_path, shop, [name])
    case.spec["registry"]["timeout"] = "1 second"
    case.write()
    with ExitStack() as away:
        away.enter_context(registry.held_up())
        told = away.enter_context(running(spark, case))
        wait_until(lambda: told.of(Waiting) or told.error, "at the start it waits for the registry")
        assert "schema registry" in told.of(Waiting)[0].cause
        registry.let_go()
        told.wait_for_rows(20)
        second = shop.sender(name, SECOND)  # registered, and met by nobody yet
        with registry.held_up():
            first([{"name": "b"}] * 20)
            told.wait_for_rows(40)
            waits = len(told.of(Waiting))
            assert [row["name"] for row in table(case)] == ["a"] * 20 + ["b"] * 20, "what is known needs no registry"
            second([{"name": "c", "coupon": "x"}] * 20)
            first([{"name": "d"}] * 20)
            wait_until(
                lambda: len(told.of(Waiting)) > waits or told.error, "a schema that was never seen is waited for"
            )
            until = time.monotonic() + seconds
            wait_until(lambda: time.monotonic() > until or told.error, "it stays away", seconds + 60)
            assert told.error is None
            assert told.rows() == 40, "nothing of that batch is visible, and nothing of it is rejected"
        told.wait_for_rows(80)
        assert told.of(Recovered)
        assert [event.action for event in told.of(SchemaChanged)] == ["read"]
    found = table(case)
    assert [row["id"] for row in found] == [sent["id"] for sent in shop.sent]
    assert [row["coupon"] for row in found] == [None] * 40 + ["x"] * 20 + [None] * 20
    assert rows(case.dead_letters, "code") == []
    assert sum(event.read for event in told.of(BatchCommitted)) == 80
