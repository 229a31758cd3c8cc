"""The order of a batch: compute once, freeze, commit."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark import TaskContext
from pyspark.sql import SparkSession

from penstock.conserve import Reading
from penstock.errors import NotConserved, Refused, SinkRefused
from penstock.observe.events import BatchCommitted, TableEvolved, UnknownFields
from penstock.ranges import Range
from penstock.tally import Fates, Tally
from penstock.testing.batches import Bench

Make = Callable[..., Bench]
GOOD = [b'{"id": %d, "name": "n", "amount": 1.50}' % number for number in range(6)]


def test_a_record_ends_in_the_table_or_in_the_dead_letters(bench: Make) -> None:
    case = bench()
    case.write([*GOOD[:3], b"oops", None, b'{"id": "x"}', *GOOD[3:]])
    assert case.names() == [(0, 0), (0, 1), (0, 2), (0, 6), (0, 7), (0, 8)]
    assert case.dead() == [("invalid_json", None), ("tombstone", None), ("wrong_type", "/id")]
    [committed] = [event for event in case.told if isinstance(event, BatchCommitted)]
    assert (committed.read, committed.written) == (9, 6)
    assert committed.rejected == {"invalid_json": 1, "tombstone": 1, "wrong_type": 1}


def test_a_dead_letter_keeps_the_bytes_and_says_why(bench: Make) -> None:
    case = bench()
    case.write([b"\xff\x00oops"])
    columns = 'topic, partition, "offset", key, value, stage, code, pipeline, generation, batch_id, headers'
    [(*plain, headers)] = case.dead(columns)
    assert plain == ["t", 0, 0, b"k", b"\xff\x00oops", "decode", "invalid_utf8", "p", 1, 0]
    assert headers == [{"key": "h", "value": b"1"}]


def test_a_batch_that_comes_again_is_published_once(bench: Make) -> None:
    case = bench()
    for _ in range(3):
        case.write([*GOOD, b"oops"])
    assert case.names() == [(0, number) for number in range(6)]
    assert case.dead() == [("invalid_json", None)]
    again = [event.replayed for event in case.told if isinstance(event, BatchCommitted)]
    assert again[-1] is False, "the outcome of the first time stands"


def test_a_replay_publishes_the_manifest_and_reads_nothing(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench()
    plan = case.plan()
    monkeypatch.setattr("penstock.batch.publish_tables", _die)
    with pytest.raises(KeyboardInterrupt):
        case.write(GOOD, plan=plan)
    monkeypatch.undo()
    assert case.names() == []
    ranges = (Range("t", 0, 0, len(GOOD)),)
    from penstock.batch import write_batch

    write_batch(case.plan(), None, 0, ranges)  # type: ignore[arg-type]  # no rows to read: it must not try
    assert case.names() == [(0, number) for number in range(6)]


def _die(*_: object) -> None:
    raise KeyboardInterrupt


def test_the_source_is_read_once_whatever_the_number_of_tables(bench: Make) -> None:
    case = bench()
    counter = case.spark.sparkContext.accumulator(0)

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            counter.add(batch.num_rows)
            yield batch

    from penstock.batch import write_batch

    rows = case.rows([*GOOD, b"oops"])
    write_batch(case.plan(), rows.mapInArrow(counted, rows.schema), 0, (Range("t", 0, 0, 7),))
    assert counter.value == 7


@pytest.mark.parametrize("change", ["vacuum", "add column"])
def test_a_table_that_changed_since_the_freeze_is_written_anew(
    bench: Make, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    case = bench()
    case.write(GOOD[:1])
    monkeypatch.setattr("penstock.batch.publish_tables", _die)
    with pytest.raises(KeyboardInterrupt):
        case.write(GOOD[1:], batch_id=1, first=1)
    monkeypatch.undo()
    _alter(case, change)
    case.write(GOOD[1:], batch_id=1, first=1)
    assert case.names() == [(0, number) for number in range(6)]


def test_a_table_that_was_overwritten_between_two_batches_is_not_written_to(bench: Make) -> None:
    """Even with its own rows, in other partitions: that cannot be told from a loss."""
    case = bench()
    case.write(GOOD[:1])
    _alter(case, "repartition")
    with pytest.raises(Refused, match=r"was given batch 0, but version \d+ replaced its content"):
        case.write(GOOD[1:], batch_id=1, first=1)
    assert case.names() == [(0, 0)]


def _alter(case: Bench, change: str) -> None:
    if change == "vacuum":
        live = set(DeltaTable(str(case.table)).file_uris())
        for path in case.table.glob("*.parquet"):
            if str(path) not in live:
                path.unlink()
        return
    if change == "add column":
        case.spark.sql(f"ALTER TABLE delta.`{case.table}` ADD COLUMN more INT")
        return
    table = case.spark.read.format("delta").load(str(case.table))
    table.write.format("delta").mode("overwrite").option("overwriteSchema", True).partitionBy("name").save(
        str(case.table)
    )


@pytest.mark.parametrize("change", ["dropped", "recreated"])
def test_a_table_that_is_gone_halts_before_it_would_leave_a_hole(bench: Make, change: str) -> None:
    case = bench()
    case.write(GOOD[:1])
    shutil.rmtree(case.table)
    if change == "recreated":
        schema = "id BIGINT, name STRING, amount DECIMAL(18,2)"
        case.spark.sql(f"CREATE TABLE delta.`{case.table}` ({schema}) USING delta")
    with pytest.raises(Refused, match="ledger says that it holds batch 0, but the table has none of this pipeline"):
        case.write(GOOD[1:], batch_id=1, first=1)
    assert case.names() == []


def test_an_old_manifest_is_computed_again(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench()
    monkeypatch.setattr("penstock.batch.publish_tables", _die)
    with pytest.raises(KeyboardInterrupt):
        case.write(GOOD)
    monkeypatch.undo()
    [manifest] = (case.state / "stage" / "g1" / "0").iterdir()
    body = json.loads(manifest.read_text())
    old = [file["path"] for file in body["sinks"]["lake"]["files"]]
    manifest.write_text(json.dumps({**body, "created_at": time.time() - 2 * 86_400}))
    case.write(GOOD)
    assert case.names() == [(0, number) for number in range(6)]
    assert not {Path(uri).name for uri in DeltaTable(str(case.table)).file_uris()} & set(old)


def test_rows_that_vanish_on_the_way_halt_the_batch(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench()
    monkeypatch.setattr("penstock.batch.merged", _one_short)
    with pytest.raises(NotConserved, match="t-0"):
        case.write(GOOD)
    assert case.names() == []
    assert not (case.state / "stage").exists(), "nothing was frozen"


def _one_short(reports: list[str]) -> object:
    from penstock.worker.task import merged

    files, tally = merged(reports)
    tally.of("t", 0).written["lake"] -= 1
    return files, tally


def test_rows_are_counted_once_under_task_retry(bench: Make) -> None:
    rows = bench().rows(GOOD)
    reading = Reading([Range("t", 0, 0, 6)])

    def flaky(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = sum(batch.num_rows for batch in batches)
        context = TaskContext.get()
        if seen and context is not None and context.attemptNumber() < 2:
            raise RuntimeError("a flaky task")
        yield pa.RecordBatch.from_pydict({"seen": [seen]})

    seen = sum(row.seen for row in reading.over(rows).mapInArrow(flaky, "seen long").collect())
    assert seen == 6
    assert reading.counts() == {0: 6}


@pytest.mark.parametrize("topics", [["t"], ["orders", "returns", "t"]], ids=["one topic", "three topics"])
def test_rows_are_counted_exactly_by_partition(spark: SparkSession, topics: list[str]) -> None:
    sizes = {(topic, part): 1 + (part * 7 + len(topic)) % 40 for topic in topics for part in range(150)}
    reading = Reading([Range(*part, 0, size) for part, size in sizes.items()])
    rows = [(*part, offset) for part, size in sizes.items() for offset in range(size)]
    Random(5).shuffle(rows)  # every partition is met by every task
    frame = spark.createDataFrame(rows, "topic STRING, partition INT, offset BIGINT").repartition(7)
    reading.over(frame).mapInArrow(lambda batches: batches, frame.schema).collect()
    tally = Tally()
    for part, size in sizes.items():
        tally.partitions[part] = Fates(seen=size)
        tally.partitions[part].written["lake"] = size
    assert reading.close(tally, ["lake"]) == sum(sizes.values())
    tally.of("t", 149).written["lake"] -= 1
    count = sizes["t", 149]
    with pytest.raises(NotConserved, match=rf"t-149, sink lake: {count} rows read, {count - 1} accounted for"):
        reading.close(tally, ["lake"])


def test_rows_of_a_partition_outside_the_batch_do_not_close(bench: Make) -> None:
    rows = bench().rows(GOOD[:2], partition=3)
    reading = Reading([Range("t", 0, 0, 2)])
    reading.over(rows).mapInArrow(lambda batches: batches, rows.schema).collect()
    with pytest.raises(NotConserved, match="2 rows of partitions outside the batch"):
        reading.close(Tally(), ["lake"])


def test_dead_letters_that_cannot_be_written_fail_the_batch(bench: Make) -> None:
    case = bench()
    case.state.mkdir(parents=True)
    (case.state / "dead_letters").write_text("in the way")
    with pytest.raises(SinkRefused, match="dead_letters"):
        case.write([*GOOD, b"oops"])
    assert case.names() == []


def test_unknown_fields_are_told_once(bench: Make) -> None:
    case = bench()
    plan = case.plan()
    case.write([b'{"id": 1, "coupon": 5}', b'{"id": 2}'], plan=plan)
    case.write([b'{"id": 3, "coupon": 6}'], batch_id=1, first=2, plan=plan)
    assert [event.fields for event in case.told if isinstance(event, UnknownFields)] == [{"coupon": 1}]


def test_a_new_column_of_the_schema_joins_the_table(bench: Make) -> None:
    case = bench()
    case.write([b'{"id": 1}'])
    case.schema += ", coupon STRING"
    case.write([b'{"id": 2, "coupon": "c"}'], batch_id=1, first=1)
    from penstock.dev.oracle import rows

    files = DeltaTable(str(case.table)).to_pyarrow_table().select(["id", "coupon"]).to_pylist()
    assert sorted(files, key=lambda row: row["id"]) == [{"id": 1, "coupon": None}, {"id": 2, "coupon": "c"}]
    assert len(rows(case.table, "id")) == 2
    [evolved] = [event for event in case.told if isinstance(event, TableEvolved)]
    assert (evolved.sink, evolved.columns) == ("lake", ("coupon",))


def test_a_fixed_table_refuses_a_new_column_before_anything_is_visible(bench: Make) -> None:
    case = bench(delta={"schema": "fixed"})
    case.write([b'{"id": 1}'])
    case.schema += ", coupon STRING"
    with pytest.raises(SinkRefused, match="coupon"):
        case.write([b'{"id": 2, "coupon": "c"}'], batch_id=1, first=1)
    assert case.names() == [(0, 0)]


def test_a_crash_before_the_freeze_leaves_orphans_and_no_rows(bench: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    case = bench()
    monkeypatch.setattr("penstock.ledger.ledger.Ledger.freeze", _die)
    with pytest.raises(KeyboardInterrupt):
        case.write(GOOD)
    monkeypatch.undo()
    assert case.names() == []
    assert list(case.table.glob("*.parquet")), "the files of the first try"
    case.write(GOOD)
    assert case.names() == [(0, number) for number in range(6)]


def test_not_null_inside_a_struct_is_held_by_the_decoder_and_every_reader_reads_the_table(bench: Make) -> None:
    case = bench(schema="id BIGINT, s STRUCT<a: INT NOT NULL, b: STRING>, l ARRAY<STRUCT<c: INT NOT NULL>>")
    case.write([b'{"id":1}', b'{"id":2,"s":{"a":1},"l":[{"c":2}]}', b'{"id":3,"s":{"b":"x"}}', b'{"id":4,"l":[{}]}'])
    assert case.dead() == [("missing_field", "/l/0/c"), ("missing_field", "/s/a")]
    rows = [(1, None, None), (2, {"a": 1, "b": None}, [{"c": 2}])]
    by_delta_rs = DeltaTable(str(case.table)).to_pyarrow_table().select(["id", "s", "l"]).to_pylist()
    assert sorted(tuple(row.values()) for row in by_delta_rs) == rows
    by_spark = case.spark.read.format("delta").load(str(case.table)).select("id", "s", "l").collect()
    assert sorted(tuple(row.asDict(recursive=True).values()) for row in by_spark) == rows
