"""Schemas that change while a pipeline runs: a real registry, Confluent's own serializers, two topics, ten versions."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from penstock.dev.oracle import rows
from penstock.observe.events import SchemaChanged, TableEvolved, Waiting
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka
from penstock.testing.registry import Apicurio, apicurio
from penstock.testing.runs import run_once, running
from tests.broker.schema_shop import AMOUNT, ID, Shop, avro_case, cents, optional, record, table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]
NAME, NOTE, CITY = optional("name"), optional("note"), optional("city")
QTY = {"name": "qty", "type": "int", "default": 1}
RENAMED = optional("title", aliases=["name"])
TAGS = optional("tags", {"type": "array", "items": "string"})
KIND = optional("kind", {"type": "enum", "name": "Kind", "symbols": ["NEW", "OLD"]})
FLAG, AT = optional("flag", "boolean"), optional("at", {"type": "long", "logicalType": "timestamp-millis"})
VERSIONS: list[tuple[list[dict[str, Any]], dict[str, Any]]] = [
    ([ID, AMOUNT, NAME], {"amount": cents(1050), "name": "a"}),
    ([ID, AMOUNT, NAME, NOTE], {"amount": cents(2), "name": None, "note": "n"}),
    ([ID, AMOUNT, NAME, NOTE, QTY], {"amount": cents(-3), "name": "c", "note": None, "qty": 7}),
    ([ID, AMOUNT, NAME, QTY], {"amount": cents(4), "name": "d", "qty": 8}),
    ([ID, AMOUNT, RENAMED, QTY], {"amount": cents(5), "title": "e", "qty": 9}),
    ([ID, AMOUNT, RENAMED, QTY, FLAG], {"amount": cents(6), "title": "f", "qty": 1, "flag": True}),
    ([ID, AMOUNT, QTY, TAGS], {"amount": cents(7), "qty": 2, "tags": ["x", "y"]}),
    ([AMOUNT, ID, CITY], {"amount": cents(8), "city": "Ulm"}),
    ([ID, AMOUNT, CITY, KIND], {"amount": cents(9), "city": None, "kind": "OLD"}),
    ([ID, AMOUNT, AT], {"amount": cents(10), "at": None}),
]
COLUMNS = {"name", "note", "qty", "flag", "tags", "city", "kind", "at"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apicurio]:
    with apicurio(tmp_path_factory.mktemp("registry")) as made:
        yield made


@pytest.fixture
def shop(kafka: DevKafka, registry: Apicurio) -> Shop:
    return Shop(kafka.bootstrap, registry.url)


def expected(sent: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """A row of the table for what was sent: a renamed field goes on under the column's name."""
    named = {"name" if name == "title" else name: value for name, value in sent.items() if name != "qty"}
    return {**dict.fromkeys(known), **named}


def test_ten_versions_over_two_topics_arrive_whole_without_a_restart(
    spark: SparkSession, shop: Shop, topic: Topic, tmp_path: Path
) -> None:
    topics = [topic("orders", 2), topic("returns", 1)]
    case = avro_case(tmp_path, shop, topics)
    fields, value = VERSIONS[0]
    for name in topics:
        shop.send(name, record(*fields), [value] * 3)
    with running(spark, case) as told:
        told.wait_for_rows(len(shop.sent))
        for fields, value in VERSIONS[1:]:
            for name in topics:
                shop.send(name, record(*fields), [value] * 5)
            told.wait_for_rows(len(shop.sent))
    found = {row["id"]: {name: row[name] for name in (*COLUMNS, "id", "amount")} for row in table(case)}
    assert len(table(case)) == len(shop.sent)
    without_qty = {number: {name: row[name] for name in row if name != "qty"} for number, row in found.items()}
    assert without_qty == {sent["id"]: expected(sent, COLUMNS - {"qty"}) for sent in shop.sent}
    assert all(found[sent["id"]]["qty"] == sent["qty"] for sent in shop.sent if "qty" in sent)
    evolved = [name for event in told.of(TableEvolved) for name in event.columns]
    assert sorted(evolved) == sorted(COLUMNS - {"name"})
    changed = told.of(SchemaChanged)
    assert len(changed) >= len(VERSIONS) - 1
    assert {event.action for event in changed} == {"read"}
    assert told.of(Waiting) == []
    history = [entry["operation"] for entry in DeltaTable(str(case.table())).history()]
    assert history.count("ADD COLUMN") == len(told.of(TableEvolved))


def test_bad_records_among_good_ones_are_rejected_with_their_reason(
    spark: SparkSession, shop: Shop, topic: Topic, tmp_path: Path
) -> None:
    name = topic("bad", 1)
    schema = record(*VERSIONS[1][0])
    shop.send(name, schema, [VERSIONS[1][1]] * 2)
    number = shop.id_of(name)
    head = b"\x00" + number.to_bytes(4, "big")
    huge = b"\x80\x80\x80\x80\x10"  # a length of 2 GB
    shop.send_raw(
        name,
        [
            head,
            head + b"\x02\x02\x01" + b"\x00\x00" + b"extra",
            head + b"\x02" + huge,
            head + b"\x02\x02\x01" + b"\x06\x00",
            head + b"\x02\x02\x01" + b"\x02\x04\xff\xfe\x00",
            b"\x01" + head[1:] + b"rest",
            b"\x00\x7f\xff\xff\xfe",
            b"",
            None,
        ],
    )
    shop.send(name, schema, [VERSIONS[1][1]])
    case = avro_case(tmp_path, shop, [name])
    run_once(spark, case)
    assert [row["id"] for row in table(case)] == [1, 2, 3]
    dead = sorted(rows(case.dead_letters, '"offset", code, field, schema_id'))
    assert dead == [
        (2, "bad_payload", "/id", number),
        (3, "bad_payload", None, number),
        (4, "bad_payload", "/amount", number),
        (5, "bad_payload", "/name", number),
        (6, "bad_payload", "/name", number),
        (7, "bad_frame", None, None),
        (8, "unknown_schema", None, 0x7FFFFFFE),
        (9, "bad_frame", None, None),
        (10, "tombstone", None, None),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["after:pass", "before:freeze", "after:freeze", "after:tables:lake", "before:return"])
def test_a_run_killed_during_a_schema_change_loses_and_doubles_nothing(
    shop: Shop, topic: Topic, tmp_path: Path, place: str
) -> None:
    name = topic("killed", 2)
    case = avro_case(tmp_path, shop, [name])
    shop.send(name, record(*VERSIONS[0][0]), [VERSIONS[0][1]] * 50)
    assert case.run().popen.returncode == 0
    shop.send(name, record(*VERSIONS[2][0]), [VERSIONS[2][1]] * 50)
    killed = case.run(env={"PENSTOCK_FAILPOINT": place})
    assert killed.popen.returncode == -signal.SIGKILL, killed.text
    shop.send(name, record(*VERSIONS[5][0]), [VERSIONS[5][1]] * 50)
    done = case.run()
    assert done.popen.returncode == 0, done.text
    found = table(case)
    assert [row["id"] for row in found] == [sent["id"] for sent in shop.sent]
    assert [row["qty"] for row in found[50:]] == [7] * 50 + [1] * 50
    assert [row["flag"] for row in found[100:]] == [True] * 50


@pytest.mark.slow
def test_a_registry_that_is_down_holds_up_only_what_was_never_seen(
    shop: Shop, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic("down", 1)
    with apicurio(tmp_path / "registry") as own:
        mine = Shop(kafka.bootstrap, own.url)
        case = avro_case(tmp_path, mine, [name])
        mine.send(name, record(*VERSIONS[0][0]), [VERSIONS[0][1]] * 10)
        assert case.run().popen.returncode == 0
        known = mine.id_of(name)
        own.stop()
        serialized = [b"\x00" + known.to_bytes(4, "big") + bytes([2 * 60, 2, 1, 0])]
        mine.send_raw(name, serialized)
        assert case.run().popen.returncode == 0, "a schema that is kept needs no registry"
        assert len(table(case)) == 11
        mine.send_raw(name, [b"\x00\x00\x00\x00\x63" + bytes([2 * 61, 2, 1, 0])])
        process = case.start()
        wait_until(lambda: process.events("waiting"), "the run waits for the registry")
        assert "schema registry" in process.events("waiting")[0]["cause"]
        own.start()
        process.wait_for("batch_committed")
        process.signal(signal.SIGTERM)
        assert process.end() == 0, process.text
    assert len(table(case)) == 11
    assert rows(case.dead_letters, "code, schema_id") == [("unknown_schema", 99)]
