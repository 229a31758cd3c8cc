"""Random and mutated payloads through the whole worker: nothing raises, and every record has exactly one fate."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.unit.avro_cases import encoded

from penstock.formats.avro import Avro
from penstock.formats.framed import Framed, RegistryDecode
from penstock.operate.preview import PreviewTarget
from penstock.rows import READ, SOURCE
from penstock.schemas.contract import Reader, Schema, Writer
from penstock.worker.intake import FromSource
from penstock.worker.letters import Sender
from penstock.worker.task import ToSinks, Work, merged

BATCH = 10_000
ITEM = {"type": "record", "name": "Item", "fields": [{"name": "sku", "type": "string"}, {"name": "qty", "type": "int"}]}
MONEY = {"type": "bytes", "logicalType": "decimal", "precision": 18, "scale": 2}
FIRST: dict[str, Any] = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "amount", "type": MONEY},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "items", "type": {"type": "array", "items": ITEM}, "default": []},
        {"name": "tags", "type": {"type": "map", "values": ["null", "double"]}, "default": {}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, "default": "A"},
    ],
}
SECOND: dict[str, Any] = {**FIRST, "fields": [*FIRST["fields"][:4], {"name": "flag", "type": "boolean"}]}


def bound(options: RegistryDecode) -> Framed:
    """Two schemas that are read and one that is parked; any other id is missing."""
    first, second = (Schema(number, "avro", json.dumps(body)) for number, body in ((1, FIRST), (2, SECOND)))
    codec = options.codec()
    grown = codec.evolved(first, second, codec.changes(first, second))
    writers = {("t", 1): Writer("s", first), ("t", 2): Writer("s", second), ("t", 3): Writer("s", first, "Parked.")}
    return Framed(options, Reader(codec.fields(grown), {"s": grown}, writers), closed=True)


def order(dice: random.Random) -> tuple[int, bytes]:
    number = dice.randrange(3) // 2 + 1
    value: dict[str, Any] = {
        "id": dice.getrandbits(40),
        "amount": b"\x01" + dice.randbytes(dice.randrange(7)),
        "at": dice.getrandbits(40),
        "note": dice.choice([None, "text", "längerer Text"]),
    }
    if number == 2:
        return 2, encoded(SECOND, {**value, "flag": dice.random() < 0.5})
    items = [{"sku": "s" * dice.randrange(9), "qty": dice.randrange(-5, 500)} for _ in range(dice.randrange(5))]
    tags = {f"k{n}": dice.choice([None, 0.5]) for n in range(dice.randrange(3))}
    return 1, encoded(FIRST, {**value, "items": items, "tags": tags, "kind": dice.choice("AB")})


def spoiled(data: bytes, dice: random.Random) -> bytes:
    """A few bytes changed, cut, repeated, put in; or something else altogether."""
    made = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        place = dice.randrange(len(made)) if made else 0
        way = dice.randrange(7)
        if way == 0:
            made[place : place + 1] = dice.randbytes(1)
        elif way == 1:
            del made[place:]
        elif way == 2:
            made[place:place] = dice.randbytes(dice.randrange(1, 9))
        elif way == 3:
            made += dice.randbytes(dice.randrange(1, 9))
        elif way == 4:
            made[place:place] = b"\xff" * dice.randrange(1, 12)
        elif way == 5:
            made = bytearray(dice.randbytes(dice.randrange(40)))
        else:
            made[place : place + 4] = made[place : place + 4] * 3
    return bytes(made)


def batches(count: int, dice: random.Random) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Batches of records, half of them spoiled; and how many of each are as they were written."""
    kept = [order(dice) for _ in range(500)]
    for first in range(0, count, BATCH):
        values: list[bytes | None] = []
        whole = 0
        for _ in range(min(BATCH, count - first)):
            number, data = kept[dice.randrange(len(kept))]
            framed = b"\x00" + number.to_bytes(4, "big") + data
            whole += (good := dice.random() < 0.5)
            values.append(framed if good else spoiled(framed, dice) if dice.random() < 0.99 else None)
        columns = {name: pa.nulls(len(values), SOURCE.field(name).type) for name in READ}
        columns |= {
            "value": pa.array(values, pa.binary()),
            "topic": pa.repeat("t", len(values)),
            "partition": pa.repeat(pa.scalar(0, pa.int32()), len(values)),
            "offset": pa.array(range(first, first + len(values)), pa.int64()),
        }
        yield pa.RecordBatch.from_pydict(columns), whole


def lived_through(count: int, seed: int, folder: Path) -> None:
    made = bound(Avro())
    targets = {name: PreviewTarget(str(folder / name)) for name in ("lake", "dead_letters")}
    letters = {"dead_letters": targets.pop("dead_letters")}
    whole = 0

    def source() -> Iterator[pa.RecordBatch]:
        nonlocal whole
        for batch, good in batches(count, random.Random(seed)):
            whole += good
            yield batch

    work = Work(0, FromSource(made), (), ToSinks(Sender("p", 1, 0), {**targets}, {**letters}))
    files, tally = merged(report["report"][0].as_py() for report in work.run(source(), "00000-0"))
    total = tally.total()
    assert total.seen == total.accounted("lake") == count
    assert total.written["lake"] >= whole, "a record that was not touched was not read"
    assert sum(file.rows for file in files["dead_letters"]) == sum(total.rejected.values())
    assert set(total.rejected) <= {
        "bad_frame", "bad_payload", "unknown_schema", "schema_parked", "tombstone",
    }  # fmt: skip
    assert total.rejected["bad_payload"] > count // 10


def test_thousands_of_mutated_payloads_each_have_one_fate(tmp_path: Path) -> None:
    lived_through(20_000, 7, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_million_mutated_payloads_each_have_one_fate(tmp_path: Path) -> None:
    lived_through(1_000_000, 11, tmp_path)
