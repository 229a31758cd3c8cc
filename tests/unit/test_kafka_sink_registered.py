"""Values by a schema: which one a sink writes by, what it refuses before anything is visible, what a row must be."""

from __future__ import annotations

import io
import json
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from penstock.errors import InvalidPipeline, SchemaRefused, SinkRefused
from penstock.formats.encode.contract import encoding
from penstock.formats.protobuf.messages import messages_of
from penstock.schemas.contract import Schema
from penstock.schemas.folder import Folder
from penstock.sinks.contract import Misfit
from penstock.sinks.kafka import Topic
from penstock.sinks.kafka.registered import Registered, Registrar
from penstock.sinks.kafka.target import KafkaTarget
from penstock.spec import load_pipeline

COLUMNS = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("name", pa.string())])
AVRO = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
}
PROTO = 'syntax = "proto3"; message Order { int64 id = 1; optional string name = 2; }'
JSON = {
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 3}},
    "required": ["id"],
}
TEXTS = {"avro": (json.dumps(AVRO), "avsc"), "protobuf": (PROTO, "proto"), "json_schema": (json.dumps(JSON), "json")}


def registrar(folder: Path, word: str, text: str = "") -> Registrar:
    given, suffix = TEXTS[word]
    (folder / "out-value").mkdir(exist_ok=True)
    (folder / "out-value" / f"17.{suffix}").write_text(text or given)
    return Registrar(Folder(folder))


def settle(registrar: Registrar, word: str, columns: pa.Schema = COLUMNS, **more: Any) -> Registered:
    return registrar.values("alerts", Topic.model_validate({"topic": "out", "value": word, **more}), columns)


@pytest.mark.parametrize("word", TEXTS)
def test_the_schema_of_the_subject_is_taken_if_it_has_a_place_for_every_column(tmp_path: Path, word: str) -> None:
    found = settle(registrar(tmp_path, word), word)
    assert found.schema.id == 17
    rows = pa.RecordBatch.from_pylist([{"id": 1, "name": "a"}, {"id": 2, "name": None}], COLUMNS)
    made = pickle.loads(pickle.dumps(found)).writer().encode(rows)
    assert made.flaws == []
    assert {value[:5] for value in made.values.to_pylist()} == {b"\x00\x00\x00\x00\x11"}


@pytest.mark.parametrize("word", TEXTS)
def test_a_column_without_a_place_is_refused_with_words(tmp_path: Path, word: str) -> None:
    more = COLUMNS.append(pa.field("extra", pa.bool_()))
    with pytest.raises(SinkRefused, match=r"sink alerts, subject out-value: column /extra: .*\(schema 17\)") as refused:
        settle(registrar(tmp_path, word), word, more)
    assert "register: if_compatible" in str(refused.value)


@pytest.mark.parametrize("word", TEXTS)
def test_a_column_of_another_type_is_refused_with_words(tmp_path: Path, word: str) -> None:
    other = COLUMNS.set(1, pa.field("name", pa.bool_()))
    with pytest.raises(SinkRefused, match="column /name: the column is bool, and the schema says string"):
        settle(registrar(tmp_path, word), word, other)


@pytest.mark.parametrize(
    ("word", "said"), [("avro", "/id: the schema wants"), ("json_schema", "/id: the schema wants")]
)
def test_a_field_that_no_column_gives_is_refused_where_the_schema_wants_it(
    tmp_path: Path, word: str, said: str
) -> None:
    with pytest.raises(SinkRefused, match=said):
        settle(registrar(tmp_path, word), word, pa.schema([COLUMNS.field("name")]))


def test_a_subject_that_is_not_there_or_of_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SinkRefused, match="subject other: the registry has no such subject"):
        settle(registrar(tmp_path, "avro"), "avro", subject="other")
    with pytest.raises(SinkRefused, match="its schema is avro, and the sink writes protobuf"):
        settle(registrar(tmp_path, "avro"), "protobuf")


def test_a_schema_is_settled_once_for_the_same_columns(tmp_path: Path) -> None:
    made = registrar(tmp_path, "avro")
    first = settle(made, "avro")
    (tmp_path / "out-value" / "17.avsc").unlink()
    assert settle(made, "avro") is first
    with pytest.raises(SinkRefused, match="no such subject"):
        settle(made, "avro", COLUMNS.append(pa.field("x", pa.int32())))


def test_a_row_that_the_schema_cannot_say_is_a_misfit_of_that_sink_alone(tmp_path: Path) -> None:
    found = settle(registrar(tmp_path, "json_schema"), "json_schema")
    target = KafkaTarget("alerts", "shop", str(tmp_path), "out", "json_schema", False, False, {"out": 9_999}, found)
    rows = pa.RecordBatch.from_pydict(
        {
            "id": pa.array([1, 2, 3]), "name": pa.array(["abc", "abcd", None]),
            "_topic": pa.array(["t"] * 3), "_partition": pa.array([0] * 3, pa.int32()),
            "_offset": pa.array([0, 1, 2]), "_timestamp": pa.array([0] * 3, pa.timestamp("us", "UTC")),
        }
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(target)).writer("0").write(rows) == [
        Misfit(1, "/name", "the value is longer than 3 characters")
    ]
    assert target.to_json()["schema_id"] == 17


def encoded(
    word: str, text: str, columns: pa.Schema, rows: list[dict[str, Any]]
) -> tuple[list[bytes], list[tuple[int, str]]]:
    kind: Any = {"avro": "avro", "protobuf": "protobuf", "json_schema": "json"}[word]
    encoder = encoding(word).encoder(Schema(1, kind, text), columns)
    made = encoder.encode(pa.RecordBatch.from_pylist(rows, columns))
    return made.values.to_pylist(), [(flaw.row, flaw.field) for flaw in made.flaws]


DECIMAL = {"logicalType": "decimal", "precision": 4, "scale": 2}


def test_avro_values_that_the_schema_cannot_say_are_flaws() -> None:
    body = {
        "type": "record", "name": "R", "namespace": "n",
        "fields": [
            {"name": "must", "type": "string"},
            {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["A", "B"]}},
            {"name": "four", "type": {"type": "fixed", "name": "F", "size": 4}},
            {"name": "small", "type": {"type": "fixed", "name": "D", "size": 2, **DECIMAL}},
            {"name": "many", "type": {"type": "array", "items": "int"}},
            {"name": "ms", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            {"name": "fallback", "type": "string", "default": "none"},
        ],
    }  # fmt: skip
    columns = pa.schema(
        [
            pa.field("must", pa.string()), pa.field("kind", pa.string()), pa.field("four", pa.binary()),
            pa.field("small", pa.decimal128(3, 1)), pa.field("many", pa.list_(pa.int32())),
            pa.field("ms", pa.timestamp("us", "UTC")),
        ]
    )  # fmt: skip
    good: dict[str, Any] = {
        "must": "x",
        "kind": "B",
        "four": b"1234",
        "small": Decimal("-32.7"),
        "many": [1, -1],
        "ms": 1_500_999,
    }
    bad: list[dict[str, Any]] = [{"must": None}, {"kind": "C"}, {"four": b"123"}, {"many": [1, None]}]
    rows = [good, *({**good, **one} for one in bad)]
    values, flaws = encoded("avro", json.dumps(body), columns, rows)
    assert flaws == [(1, "/must"), (2, "/kind"), (3, "/four"), (4, "/many/1")]
    found = fastavro.schemaless_reader(io.BytesIO(values[0]), fastavro.parse_schema(body), None)
    assert isinstance(found, dict)
    assert (found["kind"], found["many"], found["fallback"], str(found["small"])) == ("B", [1, -1], "none", "-32.70")
    assert str(found["ms"]) == "1970-01-01 00:00:01.500000+00:00"


def test_protobuf_values_that_the_schema_cannot_say_are_flaws() -> None:
    text = (
        'syntax = "proto3"; import "google/protobuf/wrappers.proto"; import "google/protobuf/struct.proto";'
        'import "google/protobuf/duration.proto"; enum E { NONE = 0; RED = 3; }'
        "message Order { uint32 u = 1; E e = 2; oneof o { string a = 3; int64 b = 4; } repeated string many = 5;"
        "google.protobuf.StringValue w = 6; google.protobuf.Struct free = 7; google.protobuf.Duration took = 8;"
        "uint64 big = 9; }"
    )
    columns = pa.schema(
        [
            pa.field("u", pa.int64()), pa.field("e", pa.string()), pa.field("a", pa.string()),
            pa.field("b", pa.int64()),
            pa.field("many", pa.list_(pa.string())), pa.field("w", pa.string()), pa.field("free", pa.string()),
            pa.field("took", pa.int64()), pa.field("big", pa.decimal128(20, 0)),
        ]
    )  # fmt: skip
    good: dict[str, Any] = {
        "u": 2**32 - 1, "e": "RED", "a": "x", "b": None, "many": ["y"], "w": "", "free": '{"k": [1]}',
        "took": -1_500_001, "big": 2**64 - 1,
    }  # fmt: skip
    bad: list[dict[str, Any]] = [
        {"u": -1},
        {"e": "BLUE"},
        {"b": 5},
        {"many": [None]},
        {"free": "[1]"},
        {"big": -1},
        {"e": "7"},
    ]
    values, flaws = encoded("protobuf", text, columns, [good, *({**good, **one} for one in bad)])
    assert flaws == [(1, "/u"), (2, "/e"), (3, ""), (4, "/many/0"), (5, "/free"), (6, "/big")]
    from google.protobuf.message_factory import GetMessageClass

    kind = GetMessageClass(messages_of(Schema(1, "protobuf", text)).named())
    found = kind.FromString(values[0][1:])
    assert (found.u, found.e, found.a, found.w.value, found.HasField("w"), found.big) == (
        2**32 - 1,
        3,
        "x",
        "",
        True,
        2**64 - 1,
    )
    assert (found.took.seconds, found.took.nanos, dict(found.free)) == (-1, -500_001_000, {"k": found.free["k"]})
    assert kind.FromString(values[7][1:]).e == 7


@pytest.mark.parametrize("word", TEXTS)
def test_a_schema_gains_an_optional_field_for_each_column_it_lacks(word: str) -> None:
    text, _ = TEXTS[word]
    kind: Any = {"json_schema": "json"}.get(word, word)
    part = pa.struct([pa.field("x", pa.int32()), pa.field("at", pa.timestamp("us", "UTC"))])
    more = COLUMNS.append(pa.field("extra", pa.list_(part))).append(
        pa.field("at", pa.timestamp("us", "UTC"), nullable=False)
    )
    own = encoding(word)
    wider = own.extended(Schema(1, kind, text), more)
    assert own.encoder(own.portable(wider), more).encode(pa.RecordBatch.from_pylist([], more)).flaws == []
    assert own.encoder(wider, COLUMNS).encode(pa.RecordBatch.from_pylist([{"id": 1}], COLUMNS)).flaws == []


def test_a_proto_text_is_extended_behind_comments_and_reserved_numbers() -> None:
    text = (
        '// message Order { in a comment\nsyntax = "proto3";\npackage shop;\n\n/* } */ message Order {\n'
        '  reserved 4 to 9;\n  int64 id = 1; // }\n  message Inner { string x = 1 [json_name = "}"]; }\n}\n'
        "message Other { int32 y = 1; }\n"
    )
    columns = pa.schema([pa.field("id", pa.int64()), pa.field("at", pa.timestamp("us"))])
    wider = encoding("protobuf").extended(Schema(1, "protobuf", text), columns)
    assert "  google.protobuf.Timestamp at = 10;\n}\nmessage Other" in wider.text
    assert messages_of(wider).named().full_name == "shop.Order"


@pytest.mark.parametrize(
    ("word", "column", "said"),
    [
        ("avro", pa.field("a-b", pa.string()), "column /a-b: Avro has no such names"),
        ("avro", pa.field("a", pa.duration("us")), "Avro has no type for duration"),
        ("protobuf", pa.field("a b", pa.string()), "column /a b: Protobuf has no such names"),
        ("protobuf", pa.field("a", pa.list_(pa.list_(pa.string()))), "Protobuf has no type for list"),
        ("json_schema", pa.field("a", pa.duration("us")), "JSON has no text for duration"),
    ],
)
def test_columns_that_no_schema_can_have_are_refused(word: str, column: pa.Field, said: str) -> None:
    with pytest.raises(SchemaRefused) as refused:
        encoding(word).derived(pa.schema([column]), "t")
    assert said in str(refused.value)


def test_values_by_a_schema_need_a_registry(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(
        "pipeline: p\nsource: {kafka: {brokers: dev, topics: [a]}}\ndecode: raw\n"
        "sinks: {out: {kafka: {topic: b, value: avro}}}\n"
    )
    with pytest.raises(InvalidPipeline, match=r"sinks\.out\.kafka\.value: `avro` needs a registry"):
        load_pipeline(path)
