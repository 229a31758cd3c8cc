"""The Kafka source on a real broker: what is read, from where, and what is said when it is gone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewPartitions

from penstock.dev.oracle import count, rows
from penstock.errors import DataLost, Refused
from penstock.ledger.ledger import Ledger
from penstock.observe.events import BatchCommitted, Progressed, RecordsLost
from penstock.testing.harness import Case
from penstock.testing.kafka import DevKafka, delete_records, ensure_topic, produce
from penstock.testing.runs import run_once, running
from tests.broker.cases import ids, ids_case, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]


@pytest.fixture
def case(tmp_path: Path, kafka: DevKafka) -> Callable[..., Case]:
    """A pipeline of `id BIGINT` from the source that the test describes."""

    def make(topic: str | None = None, *, pipeline: dict[str, Any] | None = None, **source: Any) -> Case:
        return ids_case(tmp_path, kafka.bootstrap, topic, source=source, **(pipeline or {}))

    return make


Make = Callable[..., Case]


def test_a_second_run_reads_what_is_new_and_nothing_twice(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [*values(0, 50), b"oops"])
    pipeline = case(name)
    run_once(spark, pipeline)
    produce(kafka.bootstrap, name, values(50, 70))
    told = run_once(spark, pipeline)
    assert told.rows() == 20
    assert ids(pipeline) == list(range(70))
    assert count(kafka.bootstrap, [name], pipeline.table(), pipeline.dead_letters).exact


def test_a_batch_holds_at_most_max_rows_and_each_is_read_once(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic()
    produce(kafka.bootstrap, name, values(0, 100))
    told = run_once(spark, case(name, pipeline={"pace": {"max_rows": 40}}))
    assert max(event.read for event in told.of(BatchCommitted)) <= 40
    assert told.rows() == 100
    by_spark = {event.batch_id: event.rows for event in told.of(Progressed) if event.rows}
    by_us = {event.batch_id: event.read for event in told.of(BatchCommitted)}
    assert by_spark.items() <= by_us.items(), "numInputRows equals our count: the source is read once"
    assert by_spark


@pytest.mark.parametrize(("task_rows", "files"), [(None, 2), (5, 25)], ids=["gathered", "as the file says"])
def test_many_partitions_with_few_records_are_read_by_few_tasks(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make, task_rows: int | None, files: int
) -> None:
    name = topic(partitions=24)
    for partition in range(24):
        produce(kafka.bootstrap, name, values(5 * partition, 5 * partition + 5), partition=partition)
    produce(kafka.bootstrap, name, [b"oops"], partition=23)
    pipeline = case(name, task_rows=task_rows) if task_rows else case(name)
    run_once(spark, pipeline)
    assert ids(pipeline) == list(range(120))
    assert len(list(pipeline.table().glob("*.parquet"))) == files, "one of each task"
    assert count(kafka.bootstrap, [name], pipeline.table(), pipeline.dead_letters).exact


@pytest.mark.parametrize("start", ["latest", "time", "offsets"])
def test_the_first_run_begins_where_start_says(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make, start: str
) -> None:
    name = topic(partitions=2)
    cut = datetime(2026, 11, 10, tzinfo=UTC)
    before, after = int(cut.timestamp() * 1000) - 1, int(cut.timestamp() * 1000)
    produce(kafka.bootstrap, name, values(0, 10), partition=0, timestamp_ms=before)
    produce(kafka.bootstrap, name, values(10, 14), partition=1, timestamp_ms=before)
    if start != "latest":
        produce(kafka.bootstrap, name, values(20, 25), partition=0, timestamp_ms=after)
    begin: Any = {"latest": "latest", "time": "2026-11-10T00:00:00Z", "offsets": {name: {0: 10, 1: 4}}}[start]
    pipeline = case(name, start=begin)
    run_once(spark, pipeline)
    if start == "latest":
        assert ids(pipeline) == []
        produce(kafka.bootstrap, name, values(20, 25), partition=0)
        run_once(spark, pipeline)
    assert ids(pipeline) == [20, 21, 22, 23, 24], "partition 1 has nothing after the time: it starts at its end"


def test_a_start_that_forgets_a_partition_is_refused_with_the_whole_map(
    spark: SparkSession, topic: Topic, case: Make
) -> None:
    name = topic(partitions=3)
    with pytest.raises(Refused, match=rf"start: \{{{name}: \{{0: 5, 1: 0, 2: 0\}}\}}"):
        run_once(spark, case(name, start={name: {0: 5}}))


def test_assigned_partitions_are_the_only_ones_read(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=3)
    for partition in range(3):
        produce(kafka.bootstrap, name, values(10 * partition, 10 * partition + 3), partition=partition)
    pipeline = case(partitions={name: [0, 2]})
    run_once(spark, pipeline)
    assert ids(pipeline) == [0, 1, 2, 20, 21, 22]


def test_a_new_partition_joins_while_running_from_its_first_record(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 5))
    pipeline = case(name)
    with running(spark, pipeline) as told:
        told.wait_for_rows(5)
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
        admin.create_partitions([NewPartitions(name, 3)])[name].result(30)
        for partition in (1, 2):
            produce(kafka.bootstrap, name, values(10 * partition, 10 * partition + 5), partition=partition)
        told.wait_for_rows(15)
    assert ids(pipeline) == [*range(5), *range(10, 15), *range(20, 25)]


def test_a_new_topic_that_the_pattern_matches_joins_while_running(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    first = topic("shop-orders", partitions=1)
    other, second = first.replace("shop", "noshop"), f"{first}-more"
    produce(kafka.bootstrap, first, values(0, 5))
    pipeline = case(pattern=f"{first}.*".replace("-", "[-]"))
    with running(spark, pipeline) as told:
        told.wait_for_rows(5)
        for name, start in ((other, 50), (second, 10)):
            ensure_topic(kafka.bootstrap, name, 2)
            produce(kafka.bootstrap, name, values(start, start + 5))
        told.wait_for_rows(10)
    assert ids(pipeline) == [*range(5), *range(10, 15)]


def test_an_aborted_transaction_is_not_read_unless_wished(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"tx-{name}"})
    producer.init_transactions()
    for end, (start, stop) in {"abort": (0, 5), "commit": (5, 10)}.items():
        producer.begin_transaction()
        for value in values(start, stop):
            producer.produce(name, value)
        producer.flush()
        producer.commit_transaction() if end == "commit" else producer.abort_transaction()
    careful = case(name)
    told = run_once(spark, careful)
    assert ids(careful) == [5, 6, 7, 8, 9]
    assert told.rows() == 5
    careless = case(
        name,
        isolation="uncommitted",
        pipeline={"pipeline": "careless", "sinks": {"lake": {"delta": {"table": "./lake/all"}}}},
    )
    run_once(spark, careless)
    assert ids(careless) == list(range(10))


def test_key_and_headers_reach_the_dead_letters_byte_for_byte(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=1)
    headers = [("a", b"\x00\xff"), ("a", None), ("empty", b""), ("ü", "é".encode())]
    produce(kafka.bootstrap, name, [b"oops"], keys=[b"\xfe\x00key"], headers=headers)
    produce(kafka.bootstrap, name, [b"oops"])
    pipeline = case(name)
    run_once(spark, pipeline)
    found = sorted(rows(pipeline.dead_letters, '"offset", key, value, headers'))
    assert found[0][1:3] == (b"\xfe\x00key", b"oops")
    assert [(header["key"], header["value"]) for header in found[0][3]] == headers
    assert found[1][1] is None
    assert found[1][3] == []


def test_lost_records_stop_the_run_with_their_exact_ranges(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=2)
    produce(kafka.bootstrap, name, values(0, 10), partition=0)
    produce(kafka.bootstrap, name, values(10, 20), partition=1)
    pipeline = case(name)
    run_once(spark, pipeline)
    produce(kafka.bootstrap, name, values(20, 40), partition=0)
    delete_records(kafka.bootstrap, name, {0: 25})
    with pytest.raises(DataLost, match=f"topic {name} partition 0 no longer holds offsets 10 to 24") as stopped:
        run_once(spark, pipeline)
    assert stopped.value.exit_code == 4
    assert f"penstock run {pipeline.file.name} --accept-loss" in str(stopped.value)
    assert ids(pipeline) == list(range(20))

    told = run_once(spark, pipeline, accept_loss=True)
    [report] = told.of(RecordsLost)
    assert report.gaps == ({"topic": name, "partition": 0, "start": 10, "end": 25},)
    assert ids(pipeline) == [*range(20), *range(35, 40)]
    ledger = Ledger.find(pipeline.state, "p")
    last = ledger.last_outcome() if ledger else None
    assert last is not None
    assert [len(gap) for gap in last.gaps] == [15]


def test_losses_are_skipped_and_kept_when_the_file_says_so(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 10))
    pipeline = case(name, on_data_loss="skip")
    run_once(spark, pipeline)
    produce(kafka.bootstrap, name, values(10, 20))
    delete_records(kafka.bootstrap, name, {0: 13})
    told = run_once(spark, pipeline)
    assert [report.gaps[0]["end"] for report in told.of(RecordsLost)] == [13]
    assert ids(pipeline) == [*range(10), *range(13, 20)]


def test_accepting_a_loss_does_not_accept_the_next_one(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 10))
    pipeline = case(name, pipeline={"pace": {"max_rows": 5}})
    run_once(spark, pipeline)
    produce(kafka.bootstrap, name, values(10, 40))
    delete_records(kafka.bootstrap, name, {0: 12})
    run_once(spark, pipeline, accept_loss=True)
    produce(kafka.bootstrap, name, values(40, 60))
    delete_records(kafka.bootstrap, name, {0: 45})
    with pytest.raises(DataLost, match="offsets 40 to 44"):
        run_once(spark, pipeline)


def test_a_partition_that_joins_after_its_first_records_were_deleted_is_a_loss(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    first = topic("late", partitions=1)
    second = f"{first}-more"
    produce(kafka.bootstrap, first, values(0, 5))
    pipeline = case(pattern=f"{first}.*")
    run_once(spark, pipeline)
    ensure_topic(kafka.bootstrap, second, 1)
    produce(kafka.bootstrap, second, values(10, 20))
    delete_records(kafka.bootstrap, second, {0: 4})
    with pytest.raises(DataLost, match=f"topic {second} partition 0 no longer holds offsets 0 to 3"):
        run_once(spark, pipeline)
    run_once(spark, pipeline, accept_loss=True)
    assert ids(pipeline) == [*range(5), *range(14, 20)]


def test_a_topic_that_does_not_exist_is_refused_with_those_that_do(
    spark: SparkSession, topic: Topic, case: Make
) -> None:
    name = topic("orders")
    with pytest.raises(Refused, match=f"has no {name}s. Did you mean {name}"):
        run_once(spark, case(f"{name}s"))


def test_other_topics_than_the_checkpoints_are_refused(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    first, second = topic(), topic()
    produce(kafka.bootstrap, first, values(0, 3))
    run_once(spark, case(first))
    with pytest.raises(Refused, match=rf"holds offsets of \['{first}'\], but the pipeline now reads \['{second}'\]"):
        run_once(spark, case(second))


def test_a_topic_that_was_created_again_is_refused(
    spark: SparkSession, kafka: DevKafka, topic: Topic, case: Make
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 10))
    pipeline = case(name)
    run_once(spark, pipeline)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_topics([name])[name].result(30)
    from penstock.testing.harness import wait_until

    wait_until(lambda: name not in admin.list_topics(timeout=10).topics, "the topic is gone")
    wait_until(lambda: ensure_topic(kafka.bootstrap, name, 1), "it is there again")
    produce(kafka.bootstrap, name, values(100, 103))
    with pytest.raises(Refused, match=f"topic {name} was deleted and created again"):
        run_once(spark, pipeline)
    assert ids(pipeline) == list(range(10))
