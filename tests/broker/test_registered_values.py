"""Protobuf and JSON Schema by a real registry and Confluent's own serializers, into a table and out to topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from deltalake import DeltaTable
from google.protobuf.message_factory import GetMessageClass

from penstock.dev.oracle import rows
from penstock.errors import SinkRefused
from penstock.formats.protobuf.messages import messages_of
from penstock.observe.events import TableEvolved
from penstock.schemas.contract import Schema
from penstock.testing.harness import Case
from penstock.testing.kafka import DevKafka, produce, read_all
from penstock.testing.registry import Apicurio, apicurio
from penstock.testing.runs import run_once, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]
HEAD = 'syntax = "proto3"; package shop; import "google/protobuf/timestamp.proto"; enum Kind { NONE = 0; NEW = 1; }'
LINE = "message Line { string sku = 1; int32 qty = 2; }"
PROTOS: list[tuple[str, dict[str, Any]]] = [
    ("int64 id = 1; string name = 2; Kind kind = 3; repeated Line lines = 4;", {"name": "a", "kind": 1}),
    ("int64 id = 1; string name = 2; Kind kind = 3; repeated Line lines = 4; optional string note = 5;", {"note": "n"}),
    ("int64 id = 1; string title = 2; repeated Line lines = 4; optional string note = 5;", {"title": "t"}),
    (
        "int64 id = 1; string title = 2; google.protobuf.Timestamp at = 6; map<string, int64> by = 7;",
        {"at": {"seconds": 5}, "by": {"x": 1}},
    ),
]


def message(version: int) -> Any:
    """The class of this version's message, as `protoc` would have made it."""
    body = PROTOS[version][0]
    text = f"{HEAD} message Order {{ {body} }} {LINE}"
    return GetMessageClass(messages_of(Schema(version, "protobuf", text)).named())


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apicurio]:
    with apicurio(tmp_path_factory.mktemp("registered")) as made:
        yield made


class Sender:
    """Sends what a serializer of Confluent's makes."""

    def __init__(self, kafka: DevKafka, registry: Apicurio, topic: str) -> None:
        self.client = SchemaRegistryClient({"url": registry.url})
        self.bootstrap, self.topic, self.where = kafka.bootstrap, topic, SerializationContext(topic, MessageField.VALUE)

    def protobuf(self, version: int, numbers: Sequence[int]) -> None:
        kind = message(version)
        serializer = ProtobufSerializer(kind, self.client, {"use.deprecated.format": False})
        self.send([serializer(kind(id=number, **PROTOS[version][1]), self.where) for number in numbers])

    def json(self, schema: dict[str, Any], values: Sequence[dict[str, Any]]) -> None:
        serializer = JSONSerializer(json.dumps(schema), self.client)
        self.send([serializer(value, self.where) for value in values])

    def number(self) -> int:
        """The id of the newest schema."""
        return int(self.client.get_latest_version(f"{self.topic}-value").schema_id or 0)

    def send(self, values: Sequence[bytes | None]) -> None:
        produce(self.bootstrap, self.topic, values)


def case_of(folder: Path, kafka: DevKafka, registry: Apicurio, topic: str, decode: Any, **sinks: Any) -> Case:
    spec = {
        "pipeline": f"p-{topic}",
        "source": {"kafka": {"brokers": [kafka.bootstrap], "topics": [topic]}},
        "registry": {"url": registry.url, "unknown_id_wait": "1 second"},
        "decode": decode,
        "sinks": {"lake": {"delta": {"table": "./lake/t"}}, **sinks},
        "trigger": "as_fast_as_possible",
    }
    return Case(folder, spec)


def table(case: Case) -> list[dict[str, Any]]:
    found = DeltaTable(str(case.table())).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: int(row["id"]))


def test_protobuf_versions_arrive_whole_while_the_pipeline_runs(
    spark: SparkSession, kafka: DevKafka, registry: Apicurio, topic: Topic, tmp_path: Path
) -> None:
    name = topic("messages", 2)
    sender = Sender(kafka, registry, name)
    sender.protobuf(0, range(5))
    case = case_of(tmp_path, kafka, registry, name, {"protobuf": {}})
    with running(spark, case) as told:
        told.wait_for_rows(5)
        for version in range(1, len(PROTOS)):
            sender.protobuf(version, range(5 * version, 5 * version + 5))
            told.wait_for_rows(5 * version + 5)
    found = table(case)
    assert [row["id"] for row in found] == list(range(20))
    assert [found[number]["name"] for number in (0, 5, 10, 15)] == ["a", "", "t", ""]
    assert [found[number]["kind"] for number in (0, 5, 10, 15)] == ["NEW", "NONE", None, None]
    assert [found[number]["note"] for number in (0, 5, 10, 15)] == [None, "n", None, None]
    assert (found[15]["at"].timestamp(), dict(found[15]["by"]), found[15]["lines"]) == (5, {"x": 1}, None)
    assert sorted(column for event in told.of(TableEvolved) for column in event.columns) == ["at", "by", "note"]


@pytest.mark.slow
def test_bad_protobuf_among_good_is_rejected_with_its_reason(
    spark: SparkSession, kafka: DevKafka, registry: Apicurio, topic: Topic, tmp_path: Path
) -> None:
    name = topic("broken", 1)
    sender = Sender(kafka, registry, name)
    sender.protobuf(0, [1])
    number = sender.number()
    head = b"\x00" + number.to_bytes(4, "big")
    huge = head + b"\x00\x12\xff\xff\xff\xff\x07"
    sender.send([head + b"\x00\x12\x05ab", head + b"\x02\x08\x08\x01", huge, head, head + b"\x00\x12\x01\xff", None])
    sender.protobuf(0, [2])
    case = case_of(tmp_path, kafka, registry, name, {"protobuf": {"message": "shop.Order"}})
    run_once(spark, case)
    assert [row["id"] for row in table(case)] == [1, 2]
    assert sorted(rows(case.dead_letters, '"offset", code, field, schema_id')) == [
        (1, "bad_payload", "/name", number),
        (2, "bad_payload", None, number),
        (3, "bad_payload", "/name", number),
        (4, "bad_payload", None, number),
        (5, "bad_payload", "/name", number),
        (6, "tombstone", None, None),
    ]


ORDER = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "name": {"type": "string", "maxLength": 5}},
    "required": ["id"],
    "additionalProperties": False,
}
WIDER = {**ORDER, "properties": {**ORDER["properties"], "at": {"type": "string", "format": "date-time"}}}  # type: ignore[dict-item]


def test_json_schema_records_are_typed_and_validated_while_the_schema_changes(
    spark: SparkSession, kafka: DevKafka, registry: Apicurio, topic: Topic, tmp_path: Path
) -> None:
    name = topic("objects", 1)
    sender = Sender(kafka, registry, name)
    sender.json(ORDER, [{"id": 1, "name": "a"}, {"id": 2}])
    number = sender.number()
    head = b"\x00" + number.to_bytes(4, "big")
    sender.send([head + b'{"id": 9, "name": "too long"}', head + b'{"id": "9"}', head + b'{"id": 9, "x": 1}'])
    case = case_of(tmp_path, kafka, registry, name, {"json_schema": {}})
    with running(spark, case) as told:
        told.wait_for_rows(5)
        sender.json(WIDER, [{"id": 3, "at": "2026-01-02T03:04:05Z"}])
        told.wait_for_rows(6)
    assert [(row["id"], row["name"]) for row in table(case)] == [(1, "a"), (2, None), (3, None)]
    assert table(case)[2]["at"].isoformat() == "2026-01-02T03:04:05+00:00"
    assert sorted(rows(case.dead_letters, '"offset", code, field')) == [
        (2, "schema_violation", "/name"),
        (3, "wrong_type", "/id"),
        (4, "schema_violation", "/x"),
    ]


@pytest.mark.parametrize(
    "word",
    [pytest.param("avro", marks=pytest.mark.slow), "protobuf", pytest.param("json_schema", marks=pytest.mark.slow)],
)
def test_what_a_sink_writes_is_read_by_confluents_deserializer(
    spark: SparkSession, kafka: DevKafka, registry: Apicurio, topic: Topic, tmp_path: Path, word: str
) -> None:
    name, out = topic("plain", 1), topic("out", 1)
    sender = Sender(kafka, registry, out)
    decode = {"json": {"schema": "id BIGINT NOT NULL, amount DECIMAL(9,2), tags ARRAY<STRING>, at TIMESTAMP"}}
    sink = {"kafka": {"topic": out, "value": word, "register": "if_compatible", "key": "id"}}
    case = case_of(tmp_path, kafka, registry, name, decode, copy=sink)
    values = [b'{"id": 1, "amount": 12.5, "tags": ["x"], "at": "2026-01-02T03:04:05Z"}', b'{"id": 2, "tags": [null]}']
    produce(kafka.bootstrap, name, [*values, b'{"id": 3}'])
    run_once(spark, case)
    kept = [1, 3] if word != "json_schema" else [1, 2, 3]
    found = [read_back(word, sender, record.value or b"") for record in read_all(kafka.bootstrap, out)]
    assert [each["id"] for each in found] == kept
    assert Decimal(str(found[0]["amount"])) == Decimal("12.5")
    assert list(found[0]["tags"]) == ["x"]
    assert [row["id"] for row in table(case)] == [1, 2, 3]
    dead = rows(case.dead_letters, "stage, code, field")
    assert dead == ([] if word == "json_schema" else [("sink:copy", "does_not_fit", "/tags/0")])


def read_back(word: str, sender: Sender, value: bytes) -> dict[str, Any]:
    if word == "avro":
        return dict(AvroDeserializer(sender.client)(value, sender.where))
    if word == "json_schema":
        return dict(JSONDeserializer(None, schema_registry_client=sender.client)(value, sender.where))
    text = sender.client.get_latest_version(f"{sender.topic}-value").schema.schema_str
    kind = GetMessageClass(messages_of(Schema(1, "protobuf", str(text))).named())
    found = ProtobufDeserializer(kind, {"use.deprecated.format": False})(value, sender.where)
    return {"id": found.id, "amount": found.amount, "tags": found.tags}


def test_a_sink_whose_subject_cannot_take_the_columns_is_refused_before_anything_is_visible(
    spark: SparkSession, kafka: DevKafka, registry: Apicurio, topic: Topic, tmp_path: Path
) -> None:
    name, out = topic("plain", 1), topic("taken", 1)
    sender = Sender(kafka, registry, out)
    sender.json(ORDER, [{"id": 0}])
    produce(kafka.bootstrap, name, [b'{"id": true}'])
    sink = {"kafka": {"topic": out, "value": "json_schema", "register": "if_compatible"}}
    case = case_of(tmp_path, kafka, registry, name, {"json": {"schema": "id BOOLEAN"}}, copy=sink)
    with pytest.raises(SinkRefused, match=f"sink copy, subject {out}-value: column /id: the column is bool"):
        run_once(spark, case)
    assert len(read_all(kafka.bootstrap, out)) == 1
    assert not case.table().exists() or DeltaTable(str(case.table())).to_pyarrow_table().num_rows == 0
