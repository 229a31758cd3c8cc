"""Records as consumers see them: values, keys and their partitions, headers, topics; and what could not be sent."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.rows import DEAD_LETTER, HEADERS
from penstock.sinks.contract import Frozen
from penstock.testing.kafka import DevKafka, read_all
from tests.broker.kafka_sink_kit import Shop, freeze, key, rows

Topics = Callable[..., str]


def test_a_value_is_one_json_object_with_the_rows_columns(kafka: DevKafka, topic: Topics, tmp_path: Path) -> None:
    out = topic("out", partitions=1)
    made = Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": out, "compression": "lz4"}}).ready()
    batch = rows(
        range(2),
        name=pa.array(['Zoë "Z"\n', None]),
        amount=pa.array([Decimal("10.50"), Decimal("-0.01")]),
        at=pa.array([datetime(2026, 1, 2, 3, 4, 5, 678901, UTC)] * 2, pa.timestamp("us", "UTC")),
        tags=pa.array([["a"], []], pa.list_(pa.string())),
    )
    columns = pa.schema([field for field in batch.schema if not field.name.startswith("_")])
    shares, _ = freeze(made, tmp_path, {"alerts": batch}, columns)
    made.commit(shares, key(made, 0), {}, None)
    first, second = read_all(kafka.bootstrap, out)
    assert first.value == (
        b'{"id":0,"name":"Zo\xc3\xab \\"Z\\"\\n","amount":10.50,"at":"2026-01-02T03:04:05.678901Z","tags":["a"]}'
    )
    assert json.loads(second.value or b"") == {
        "id": 1, "name": None, "amount": -0.01, "at": "2026-01-02T03:04:05.678901Z", "tags": [],
    }  # fmt: skip
    assert dict(first.headers) == {
        "penstock.topic": b"orders",
        "penstock.partition": b"0",
        "penstock.offset": b"0",
        "penstock.pipeline": made.pipeline.encode(),
    }


def test_rows_reach_a_partition_in_the_order_of_the_source(kafka: DevKafka, topic: Topics, tmp_path: Path) -> None:
    out = topic("out", partitions=1)
    made = Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": out}}).ready()
    later, _ = freeze(made, tmp_path, {"alerts": rows(range(1000, 2000))})
    first, _ = freeze(made, tmp_path, {"alerts": rows(range(1000))})
    both = Frozen(first["alerts"].target, (*later["alerts"].files, *first["alerts"].files))
    made.commit({"alerts": both}, key(made, 0), {}, None)
    assert [json.loads(each.value or b"")["id"] for each in read_all(kafka.bootstrap, out)] == list(range(2000))


def test_each_row_goes_to_its_own_topic_and_one_without_comes_back(
    kafka: DevKafka, topic: Topics, tmp_path: Path
) -> None:
    one, two = topic("one"), topic("two")
    sink = {"topic_from": "concat('x-', id)", "headers": {"kind": "'test'"}}
    made = Shop(kafka.bootstrap, str(tmp_path), {"alerts": sink}).ready()
    headers = pa.array([[{"key": "kind", "value": b"test"}]] * 4, HEADERS)
    batch = rows(range(4), __topic=pa.array([one, two, "nowhere", None]), __headers=headers)
    shares, misfits = freeze(made, tmp_path, {"alerts": batch})
    assert [(each.row, each.code) for each in misfits["alerts"]] == [(2, "unknown_topic"), (3, "unknown_topic")]
    made.commit(shares, key(made, 0), {}, None)
    for name, number in ((one, 0), (two, 1)):
        [record] = read_all(kafka.bootstrap, name)
        assert record.value == b'{"id":%d}' % number
        assert record.headers[-1] == ("kind", b"test")


def test_a_topic_made_since_the_last_batch_is_known(kafka: DevKafka, topic: Topics, tmp_path: Path) -> None:
    made = Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic_from": "'x'"}}).ready()
    made.prepare("alerts", pa.schema([]), tmp_path)
    out = topic("new")
    assert freeze(made, tmp_path, {"alerts": rows(range(1), __topic=pa.array([out]))})[1] == {"alerts": []}


def test_a_key_goes_to_the_partition_that_java_would_choose(kafka: DevKafka, topic: Topics, tmp_path: Path) -> None:
    out = topic("keyed", partitions=7)
    made = Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": out, "key": "id"}}).ready()
    keys = [b"", b"21", b"foobar", b"a-little-bit-longer-string", *(b"key-%d" % number for number in range(200))]
    shares, _ = freeze(made, tmp_path, {"alerts": rows(range(len(keys)), __key=pa.array(keys, pa.binary()))})
    made.commit(shares, key(made, 0), {}, None)
    found = {record.key: record.partition for record in read_all(kafka.bootstrap, out)}
    assert found == {each: (murmur2(each) & 0x7FFFFFFF) % 7 for each in keys}


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_reference_is_javas_own(text: bytes, hashed: int) -> None:
    """The vectors of Apache Kafka's UtilsTest."""
    assert murmur2(text) == hashed % 2**32


def murmur2(data: bytes) -> int:
    """Kafka's hash of a key, as an unsigned number of 32 bits."""
    mask, mixer = 0xFFFFFFFF, 0x5BD1E995
    hashed = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        piece = int.from_bytes(data[start : start + 4], "little") * mixer & mask
        hashed = (hashed * mixer & mask) ^ ((piece ^ piece >> 24) * mixer & mask)
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * mixer & mask
    hashed = (hashed ^ hashed >> 13) * mixer & mask
    return hashed ^ hashed >> 15


def test_whatever_the_writer_takes_the_broker_takes_too(kafka: DevKafka, topic: Topics, tmp_path: Path) -> None:
    out = topic("small", partitions=2, **{"max.message.bytes": "2000"})
    sink = {"topic": out, "compression": "none", "key": "id", "headers": {"h": "id"}}
    made = Shop(kafka.bootstrap, str(tmp_path), {"alerts": sink}).ready()
    dice = random.Random(7)
    sizes = [dice.choice([0, 1, 500, *range(1500, 2100, 3)]) for _ in range(400)]
    cuts = [dice.randint(0, size) for size in sizes]
    batch = rows(
        range(400),
        text=pa.array(["x" * cut for cut in cuts]),
        __key=pa.array([b"k" * ((size - cut) // 2) for size, cut in zip(sizes, cuts, strict=True)], pa.binary()),
        __headers=pa.array(
            [[{"key": "h", "value": b"v" * ((size - cut) // 2)}] for size, cut in zip(sizes, cuts, strict=True)],
            HEADERS,
        ),
    )
    shares, misfits = freeze(made, tmp_path, {"alerts": batch})
    refused = misfits["alerts"]
    assert {each.code for each in refused} == {"too_large_out"}
    assert 10 < len(refused) < 390
    made.commit(shares, key(made, 0), {}, None)
    records = read_all(kafka.bootstrap, out)
    assert len(records) == 400 - len(refused)
    assert max(len(record.value or b"") + len(record.key or b"") for record in records) > 1000


def test_dead_letters_arrive_as_they_came_with_the_reason(kafka: DevKafka, topic: Topics, tmp_path: Path) -> None:
    dead = topic("dead", partitions=1, **{"max.message.bytes": "10000"})
    made = Shop(kafka.bootstrap, str(tmp_path), {}, dead).ready()
    target = made.prepare("dead_letters_topic", DEAD_LETTER, tmp_path)
    writer = target.writer("0")
    columns = {
        "topic": ["orders"] * 2, "partition": [3] * 2, "offset": [7, 8], "key": [b"k", None],
        "value": [b"\xff bad", b"x" * 20_000], "headers": [[{"key": "own", "value": b"1"}], None],
        "stage": ["decode"] * 2, "code": ["invalid_json", "too_large"],
    }  # fmt: skip
    arrays = [pa.array(columns.get(field.name, [None] * 2), field.type) for field in DEAD_LETTER]
    assert writer.write(pa.RecordBatch.from_arrays(arrays, schema=DEAD_LETTER)) == []
    share = Frozen(target.to_json(), tuple(writer.close()))
    made.commit({"dead_letters_topic": share}, key(made, 0), {}, None)
    first, second = read_all(kafka.bootstrap, dead)
    assert (first.key, first.value, first.headers[0]) == (b"k", b"\xff bad", ("own", b"1"))
    told = dict(first.headers)
    assert (told["penstock.code"], told["penstock.partition"], told["penstock.offset"]) == (b"invalid_json", b"3", b"7")
    assert (second.value, dict(second.headers)["penstock.size"]) == (b"", b"20000")
