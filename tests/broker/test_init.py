"""`penstock init` on a real broker: what it samples, what it leaves behind, and that its file runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner, Result

from penstock.authoring.topic import Bounds, sample_topic
from penstock.cli import built
from penstock.dev.oracle import count, rows
from penstock.dev.topics import admin
from penstock.engine.run import RunOptions, run
from penstock.errors import PenstockError
from penstock.observe.events import BatchCommitted, Event
from penstock.sources.cluster import Cluster
from penstock.spec import load_pipeline
from penstock.testing.kafka import DevKafka, delete_records, end_offsets, produce, up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]
REJECTED = {"invalid_json": 1, "truncated_json": 1, "not_an_object": 1, "tombstone": 1, "wrong_type": 1}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def penstock(*arguments: str) -> Result:
    return CliRunner().invoke(built(), list(arguments))


def penstock_init(kafka: DevKafka, topic: str, *arguments: str) -> Result:
    return penstock("init", "--brokers", kafka.bootstrap, "--topic", topic, *arguments)


def order(number: int) -> dict[str, Any]:
    return {
        "order_id": number,
        "customer": {"id": f"c{number % 7}", "address": {"city": "Köln", "zip": "50667"}},
        "amount": number + 0.5,
        "created_at": "2026-01-02T03:04:05Z",
        "sent": 1767225600000 + number,
        "items": [{"sku": f"s{n}", "qty": n} for n in range(number % 3)],
        "stock": {f"store-{number}": number, f"store-{number + 1}": 1},
        "note": "a # b: c -- d\n- e" if number % 2 else None,
        "order by": 1,
        "größe": 1.25e-7,
    }


def test_the_proposed_file_runs_and_every_record_is_accounted_for(
    kafka: DevKafka, topic: Topic, here: Path, spark: SparkSession
) -> None:
    name = topic("orders")
    produce(kafka.bootstrap, name, [json.dumps(order(number)).encode() for number in range(300)])
    wrong = json.dumps({**order(1), "order_id": "x"}).encode()
    produce(kafka.bootstrap, name, [b"oops", b'{"order_id": 1', b"[1]", None, wrong])
    result = penstock_init(kafka, name, "--json", "--name", "orders")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["outcome"]["good"], told["outcome"]["rejected"]) == (300, REJECTED)
    assert penstock("validate", "orders.yaml").exit_code == 0

    events: list[Event] = []
    pipeline = load_pipeline(here / "orders.yaml")
    run(pipeline, RunOptions(once=True, file="orders.yaml"), events.append, spark=spark)
    [batch] = [event for event in events if isinstance(event, BatchCommitted)]
    assert (batch.read, batch.written, batch.rejected) == (305, 300, REJECTED)
    found = count(kafka.bootstrap, [name], here / "lake" / "orders", Path(pipeline.dead_letters.delta))
    assert (found.exact, found.written, found.rejected) == (True, 300, REJECTED)
    [(amount, city, stock)] = rows(here / "lake" / "orders", "amount, customer.address.city, stock")[:1]
    assert (str(amount)[-3:], city, len(stock)) == (".50", "Köln", 2)


def test_sampling_leaves_no_group_and_no_offsets_behind(kafka: DevKafka, topic: Topic, here: Path) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b'{"id": 1}'] * 10)
    ends = end_offsets(kafka.bootstrap, name)
    assert penstock_init(kafka, name).exit_code == 0
    groups = admin(kafka.bootstrap).list_consumer_groups(request_timeout=10).result().valid
    assert [group.group_id for group in groups if "init" in group.group_id] == []
    assert end_offsets(kafka.bootstrap, name) == ends


def test_the_newest_records_of_every_partition_are_taken(kafka: DevKafka, topic: Topic) -> None:
    name = topic(partitions=3)
    for partition, held in ((0, 100), (1, 3), (2, 0)):
        produce(kafka.bootstrap, name, [b'{"n": %d}' % n for n in range(held)], partition=partition)
    told: list[int] = []
    sample = sample_topic(Cluster(kafka.bootstrap), name, Bounds(20), told.append)
    assert [record.place for record in sample.records] == [
        *(f"partition 0 offset {offset}" for offset in range(83, 100)),
        *(f"partition 1 offset {offset}" for offset in range(3)),
    ]
    assert sample.how == "the newest 20 records of about 103 in 3 partitions"
    assert told[-1] == 20


def test_only_committed_records_are_taken_and_gaps_are_reached_across(kafka: DevKafka, topic: Topic) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, [b'{"good": 1}'] * 20)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"tx-{name}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    for _ in range(50):
        producer.produce(name, b'{"aborted": 1}')
    producer.flush()
    producer.abort_transaction(30)
    sample = sample_topic(Cluster(kafka.bootstrap), name, Bounds(10))
    assert [record.value for record in sample.records] == [b'{"good": 1}'] * 10


def test_large_records_are_bounded_in_bytes(kafka: DevKafka, topic: Topic) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, [b'{"n": %d, "x": "%s"}' % (n, b"x" * 10_000) for n in range(50)])
    sample = sample_topic(Cluster(kafka.bootstrap), name, Bounds(50, size=55_000))
    assert [record.place for record in sample.records] == [f"partition 0 offset {n}" for n in range(45, 50)]
    assert "only the newest 55.0 KB" in sample.remarks[0]


@pytest.mark.parametrize(
    ("values", "told"),
    [([], "is empty"), ([None, None], "2 x tombstone"), ([b""], "1 x empty value")],
)
def test_a_topic_that_says_nothing_ends_with_1(
    kafka: DevKafka, topic: Topic, here: Path, values: list[bytes | None], told: str
) -> None:
    name = topic()
    produce(kafka.bootstrap, name, values)
    error = penstock_init(kafka, name).exception
    assert isinstance(error, PenstockError)
    assert (error.exit_code, told in str(error)) == (1, True), str(error)
    assert list(here.iterdir()) == []


def test_a_topic_whose_records_are_all_deleted_is_empty(kafka: DevKafka, topic: Topic, here: Path) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, [b'{"id": 1}'] * 10)
    delete_records(kafka.bootstrap, name, {0: 10})
    assert "is empty" in str(penstock_init(kafka, name).exception)


def test_a_registry_topic_is_named_and_lands_raw(
    kafka: DevKafka, topic: Topic, here: Path, spark: SparkSession
) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [b"\x00\x00\x00\x00\x2a\x02\x06abc"] * 20)
    result = penstock_init(kafka, name, "--name", "framed")
    assert result.exit_code == 0, result.output
    assert "registry frame, Avro or Protobuf inside (schema id 42 x 20)" in result.output
    assert "Registry formats come with a later version" in (here / "framed.yaml").read_text()
    run(load_pipeline(here / "framed.yaml"), RunOptions(once=True, file="framed.yaml"), lambda _: None, spark=spark)
    assert len(rows(here / "lake" / "framed", "value")) == 20


def test_a_misspelt_topic_is_a_wrong_call_and_the_right_one_is_named(kafka: DevKafka, topic: Topic, here: Path) -> None:
    name = topic("payments")
    result = penstock_init(kafka, name.replace("m", "n"))
    assert (result.exit_code, name in result.output) == (2, True)
    assert list(here.iterdir()) == []


def test_brokers_that_do_not_answer_are_told(here: Path) -> None:
    error = penstock("init", "--brokers", "127.0.0.1:1", "--topic", "orders").exception
    assert isinstance(error, PenstockError)
    assert "No file was written" in str(error)


def test_dev_is_the_broker_beside_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    broker = up(folder, child=True)
    produce_into = penstock("dev", "produce", "orders", "--file", "/dev/null")
    assert produce_into.exit_code == 0, produce_into.output
    produce(broker.bootstrap, "orders", [b'{"id": 1}'])
    result = penstock("init", "--brokers", "dev", "--topic", "orders")
    assert result.exit_code == 0, result.output
    assert load_pipeline(folder / "orders.yaml").source.brokers == "dev"
