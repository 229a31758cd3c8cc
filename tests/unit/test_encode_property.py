"""Rows written as Avro, Protobuf and JSON Schema records are read back by others' readers as they were."""

from __future__ import annotations

import base64
import datetime
import io
import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import jsonschema
import pyarrow as pa
import pytest
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.formats.encode.contract import Encoder, encoding
from penstock.formats.protobuf.messages import messages_of
from penstock.schemas.contract import Schema
from penstock.testing.protobuf_shapes import row_of

PART = pa.struct(
    [pa.field("sku", pa.string(), nullable=False), pa.field("qty", pa.int16()), pa.field("tags", pa.list_(pa.string()))]
)
COLUMNS = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("i8", pa.int8()), pa.field("i16", pa.int16()), pa.field("i32", pa.int32()),
        pa.field("i64", pa.int64()),
        pa.field("f32", pa.float32()), pa.field("f64", pa.float64()), pa.field("ok", pa.bool_()),
        pa.field("text", pa.string()), pa.field("raw", pa.binary()), pa.field("day", pa.date32()),
        pa.field("at", pa.timestamp("us", "UTC")), pa.field("price", pa.decimal128(18, 2)),
        pa.field("big", pa.decimal128(38, 10)),
        pa.field("part", PART), pa.field("parts", pa.list_(PART)), pa.field("numbers", pa.list_(pa.int64())),
        pa.field("times", pa.list_(pa.timestamp("us", "UTC"))), pa.field("counts", pa.map_(pa.string(), pa.int32())),
        pa.field("by", pa.map_(pa.string(), PART)),
    ]
)  # fmt: skip
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def value(kind: pa.DataType, rand: random.Random, nullable: bool = True) -> Any:  # noqa: PLR0911
    if nullable and rand.random() < 0.25:
        return None
    if pa.types.is_struct(kind):
        return {field.name: value(field.type, rand, field.nullable) for field in kind}
    if pa.types.is_map(kind):
        return [(f"k{number}", value(kind.item_type, rand, False)) for number in range(rand.randrange(3))]
    if pa.types.is_list(kind):
        return [value(kind.value_type, rand, False) for _ in range(rand.choice((0, 1, 3)))]
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - 1)
        return rand.choice((0, 1, -1, most - 1, -most, rand.randrange(-most, most), rand.randrange(-70, 200) % 100))
    if pa.types.is_decimal(kind):
        digits = rand.randrange(kind.precision + 1)
        return Decimal(rand.choice((1, -1)) * rand.randrange(10**digits)).scaleb(-kind.scale)
    if pa.types.is_date32(kind):
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=rand.randrange(-700_000, 2_900_000))
    if pa.types.is_timestamp(kind):
        return EPOCH + datetime.timedelta(microseconds=rand.randrange(-(10**16), 10**17))
    simple: dict[str, Callable[[], Any]] = {
        "float": lambda: rand.choice((0.0, -1.5, 0.25)),
        "double": lambda: rand.choice((0.0, 1e300, rand.uniform(-9, 9))),
        "bool": lambda: rand.random() < 0.5, "string": lambda: rand.choice(("", "ü€𝄞", "x" * 200, 'a"b\\\n')),
        "binary": lambda: rand.randbytes(rand.randrange(200)),
    }  # fmt: skip
    return simple[str(kind)]()


def batch(seed: int, columns: pa.Schema = COLUMNS, count: int = 12) -> pa.RecordBatch:
    rand = random.Random(seed)
    rows = [{field.name: value(field.type, rand, field.nullable) for field in columns} for _ in range(count)]
    return pa.RecordBatch.from_pylist(rows, columns)


def plain(row: Any) -> Any:
    """Maps as dicts, structs as they are."""
    if isinstance(row, dict):
        return {key: plain(each) for key, each in row.items()}
    if isinstance(row, list):
        return (
            {key: plain(each) for key, each in row}
            if row and isinstance(row[0], tuple)
            else [plain(each) for each in row]
        )
    return row


def encoded(encoder: Encoder, rows: pa.RecordBatch) -> list[bytes]:
    made = encoder.encode(rows)
    assert made.flaws == []
    assert made.values.null_count == 0
    values: list[bytes] = made.values.to_pylist()
    return values


def empty_maps(row: dict[str, Any], names: tuple[str, ...] = ("counts", "by")) -> dict[str, Any]:
    return {key: {} if key in names and each == [] else each for key, each in row.items()}


AVRO = encoding("avro")
AVRO_SCHEMA = AVRO.derived(COLUMNS, "big-orders")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_avro_records_are_read_back_by_fastavro(seed: int) -> None:
    rows, schema = batch(seed), fastavro.parse_schema(json.loads(AVRO_SCHEMA.text))
    for data, row in zip(encoded(AVRO.encoder(AVRO_SCHEMA, COLUMNS), rows), rows.to_pylist(), strict=True):
        stream = io.BytesIO(data)
        assert fastavro.schemaless_reader(stream, schema, None) == empty_maps(plain(row))
        assert stream.read() == b""


PROTOBUF = encoding("protobuf")
PROTOBUF_SCHEMA = PROTOBUF.portable(PROTOBUF.derived(COLUMNS, "big-orders"))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_protobuf_messages_are_read_back_by_google(seed: int) -> None:
    rows = batch(seed)
    kind = GetMessageClass(messages_of(PROTOBUF_SCHEMA).named("penstock.BigOrders"))
    for data, row in zip(encoded(PROTOBUF.encoder(PROTOBUF_SCHEMA, COLUMNS), rows), rows.to_pylist(), strict=True):
        assert data[:1] == b"\x00"
        assert plain(row_of(kind.FromString(data[1:]))) == as_protobuf(row, COLUMNS)


def as_protobuf(row: dict[str, Any], fields: Any) -> dict[str, Any]:
    """The row as Protobuf can say it: lists and maps are never null, dates and decimals are texts."""
    return {field.name: _as_protobuf(row[field.name], field.type) for field in fields}


def _as_protobuf(found: Any, kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        pairs = {key: _as_protobuf(each, kind.item_type) for key, each in found or []}
        return pairs or []
    if pa.types.is_list(kind):
        return [_as_protobuf(each, kind.value_type) for each in found or []]
    if found is None:
        return None
    if pa.types.is_struct(kind):
        return as_protobuf(found, kind)
    if pa.types.is_decimal(kind):
        return format(found, "f")
    return found.isoformat() if pa.types.is_date32(kind) else found


JSON = encoding("json_schema")
JSON_SCHEMA = JSON.derived(COLUMNS, "big-orders")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_json_objects_keep_to_the_schema_that_the_columns_give(seed: int) -> None:
    rows, validator = batch(seed), jsonschema.Draft7Validator(json.loads(JSON_SCHEMA.text))
    for data, row in zip(encoded(JSON.encoder(JSON_SCHEMA, COLUMNS), rows), rows.to_pylist(), strict=True):
        found = json.loads(data, parse_float=Decimal)
        validator.validate(json.loads(data))
        assert found == as_json(empty_maps(plain(row)))


def as_json(found: Any) -> Any:
    """What JSON says of it; what is null is left out."""
    if isinstance(found, dict):
        return {key: as_json(each) for key, each in found.items() if each is not None}
    if isinstance(found, list):
        return [as_json(each) for each in found]
    if isinstance(found, bytes):
        return base64.b64encode(found).decode()
    if isinstance(found, datetime.datetime):
        return found.strftime(f"{found.year:04d}-%m-%dT%H:%M:%S.%fZ")
    if isinstance(found, datetime.date):
        return found.isoformat()
    return Decimal(repr(found)) if isinstance(found, float) else found


@pytest.mark.parametrize("word", ["avro", "protobuf", "json_schema"])
def test_no_rows_are_no_values(word: str) -> None:
    own = encoding(word)
    schema = own.portable(own.derived(COLUMNS, "t"))
    assert len(own.encoder(schema, COLUMNS).encode(batch(1).slice(0, 0)).values) == 0


@pytest.mark.parametrize("word", ["avro", "protobuf", "json_schema"])
def test_a_slice_of_rows_is_encoded_as_those_rows(word: str) -> None:
    own, rows = encoding(word), batch(7)
    schema: Schema = own.portable(own.derived(COLUMNS, "t"))
    encoder = own.encoder(schema, COLUMNS)
    assert encoded(encoder, rows.slice(3, 5)) == encoded(encoder, rows)[3:8]
