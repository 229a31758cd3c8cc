"""What a value is, told from its bytes."""

from __future__ import annotations

import gzip
import json

import msgspec
import pyarrow as pa
import pytest

from penstock.authoring.advice import advice_for
from penstock.authoring.recognise import recognise
from penstock.authoring.sample import Sample, Taken, content_of

FRAME = b"\x00\x00\x00\x00\x2a"
PROTOBUF = b"\x08\x96\x01\x12\x07testing\x1d\x00\x00\x80\x3f"
SOME = b'{"id": 1, "name": "some text that compresses, some text that compresses"}'


@pytest.mark.parametrize(
    ("value", "name", "detail"),
    [
        (b'{"id": 1}', "JSON object", ""),
        (b' {"id": 1}\n', "JSON object", ""),
        (None, "tombstone", ""),
        (b"", "empty value", ""),
        (b" \n", "empty value", ""),
        (b'{"id": 1', "broken JSON", "truncated_json"),
        (b"{'id': 1}", "broken JSON", "invalid_json"),
        (b'{"id": 1, "id": 2}', "broken JSON", "duplicate_key"),
        (b'{"id": NaN}', "broken JSON", "not_finite"),
        (b'[{"id": 1}]', "JSON array", "of objects"),
        (b"[1, 2]", "JSON array", ""),
        (b"17", "JSON number, true, false or null", ""),
        (b"null", "JSON number, true, false or null", ""),
        (json.dumps('{"id": 1}').encode(), "JSON text", "with a JSON object inside"),
        (b'"a"', "JSON text", ""),
        (FRAME + PROTOBUF, "registry frame, Avro or Protobuf inside", "schema id 42"),
        (FRAME + b'{"id": 1}', "registry frame, JSON inside", "schema id 42"),
        (b"\x03\x00" + bytes.fromhex("b7b4a7f09cd64a3b9d3b5e3f1c2d4e5f") + b"\x02", "registry frame of AWS Glue", ""),
        (gzip.compress(SOME, mtime=0), "gzip", ""),
        (pa.compress(SOME, "zstd", asbytes=True), "zstd", ""),
        (pa.compress(SOME, "lz4", asbytes=True), "lz4", ""),
        (pa.compress(SOME, "snappy", asbytes=True), "snappy", ""),
        (b"\xff\x06\x00\x00sNaPpY\x01", "snappy", ""),
        (b"Obj\x01\x04\x16avro.schema", "Avro container", ""),
        (PROTOBUF, "Protobuf-like binary", ""),
        (msgspec.msgpack.encode({"id": 1, "name": "é"}), "MessagePack", ""),
        (bytes(range(200, 256)), "binary", ""),
        (b"hello, world", "plain text", ""),
        (b"2026-01-01 10:00:00 INFO started", "plain text", ""),
        ("Grüße, an alle, die da sind".encode(), "plain text", ""),
        (b"1,2,3", "CSV-looking text", "3 columns by ','"),
        (b"a;b;c;d", "CSV-looking text", "4 columns by ';'"),
        (b"<order><id>1</id></order>", "XML or HTML", ""),
    ],
)
def test_a_value_is_told_from_its_bytes(value: bytes | None, name: str, detail: str) -> None:
    assert recognise(value) == (name, detail)


def test_a_zero_byte_with_an_absurd_schema_id_is_no_registry_frame() -> None:
    assert recognise(b"\x00\xff\xff\xff\xff\x01\x02").name != "registry frame, Avro or Protobuf inside"


@pytest.mark.parametrize(
    "value", [FRAME + PROTOBUF, gzip.compress(SOME, mtime=0), PROTOBUF, b"a,b,c", b"hi", b"[1]", b"\xfe\xfd"]
)
def test_there_is_advice_for_what_is_not_json(value: bytes) -> None:
    assert len(advice_for(recognise(value).name)) > 20


def test_shares_and_places_of_each_kind_are_counted() -> None:
    values = [b'{"id": 1}'] * 3 + [b"oops", None]
    sample = Sample([Taken(f"line {n}", value) for n, value in enumerate(values, 1)], "x", "all")
    content = content_of(sample)
    assert content.is_json
    assert [(each.name, each.count, each.places) for each in content.holdings] == [
        ("JSON object", 3, ["line 1", "line 2", "line 3"]),
        ("plain text", 1, ["line 4"]),
        ("tombstone", 1, ["line 5"]),
    ]


def test_half_of_the_values_is_no_majority() -> None:
    sample = Sample([Taken("line 1", b"{}"), Taken("line 2", b"oops"), Taken("line 3", None)], "x", "all")
    assert not content_of(sample).is_json
