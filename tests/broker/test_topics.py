"""A pipeline into tables and topics: one pass, one transaction, every record where it belongs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.dev.oracle import rows
from penstock.dev.records import Record, produce_pairs, read_all
from penstock.testing.harness import Case
from penstock.testing.kafka import DevKafka
from penstock.testing.runs import run_once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "id BIGINT NOT NULL, amount DECIMAL(18,2), kind STRING"


def order(number: int) -> bytes:
    return json.dumps({"id": number, "amount": number * 10, "kind": "even" if number % 2 == 0 else "odd"}).encode()


@pytest.fixture
def shop(tmp_path: Path, kafka: DevKafka, topic: Callable[..., str]) -> Case:
    """Orders into a table, the big ones into a topic, all of them into a topic by kind, bad ones into a third."""
    names = {hint: topic(hint, partitions=2) for hint in ("orders", "big", "even", "odd", "dead")}
    spec = {
        "pipeline": names["orders"],
        "source": {"kafka": {"brokers": [kafka.bootstrap], "topics": [names["orders"]]}},
        "decode": {"json": {"schema": SCHEMA}},
        "sinks": {
            "lake": {"delta": {"table": "./lake/orders"}},
            "big": {"where": "amount > 100", "kafka": {"topic": names["big"], "key": "id", "headers": {"k": "kind"}}},
            "by_kind": {
                "kafka": {"topic_from": f"concat(kind, '-', {names['even'].rpartition('-')[2]} + (id % 2))"},
            },
        },
        "dead_letters": {"kafka": {"topic": names["dead"]}},
        "trigger": "available_now",
        "pace": {"max_rows": 20},
    }
    case = Case(tmp_path, spec)
    case.names = names  # type: ignore[attr-defined]
    return case


def read(kafka: DevKafka, name: str) -> list[Record]:
    return list(read_all(kafka.bootstrap, name))


def origin(record: Record) -> tuple[int, int]:
    headers = dict(record.headers)
    return int(headers["penstock.partition"] or b""), int(headers["penstock.offset"] or b"")


def test_every_record_is_in_its_tables_and_topics_once(
    shop: Any, kafka: DevKafka, spark: SparkSession, tmp_path: Path
) -> None:
    names = shop.names
    values = [order(number) for number in range(50)] + [b"oops", b'{"id": 60, "kind": "none"}']
    produce_pairs(kafka.bootstrap, names["orders"], [(None, value) for value in values])
    run_once(spark, shop)
    lake = rows(tmp_path / "lake" / "orders", "id, _partition, _offset")
    assert sorted(row[0] for row in lake) == [*range(50), 60]
    big = read(kafka, names["big"])
    assert sorted(json.loads(record.value or b"")["id"] for record in big) == list(range(11, 50))
    assert all(record.key == str(json.loads(record.value or b"")["id"]).encode() for record in big)
    assert {dict(record.headers)["k"] for record in big} == {b"even", b"odd"}
    kinds = [*read(kafka, names["even"]), *read(kafka, names["odd"])]
    assert sorted(map(origin, kinds)) == sorted((partition, offset) for id_, partition, offset in lake if id_ != 60)
    dead = read(kafka, names["dead"])
    told = sorted((dict(record.headers)["penstock.code"], record.value) for record in dead)
    assert told == [(b"invalid_json", b"oops"), (b"unknown_topic", b'{"id": 60, "kind": "none"}')]
    run_once(spark, shop)
    assert len(read(kafka, names["big"])) == len(big)
