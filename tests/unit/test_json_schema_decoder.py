"""JSON Schema: what a schema says of a row, which records break it, and how schemas change."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import SchemaRefused
from penstock.formats.contract import Decoded
from penstock.formats.json_schema.codec import JsonSchemaCodec
from penstock.formats.json_schema.columns import JsonSchemaDecoder
from penstock.formats.types import to_ddl
from penstock.schemas.contract import Change, Schema

CODEC = JsonSchemaCodec()
NUMBERS = iter(range(1, 100_000))


def schema(root: Any, **imported: Any) -> Schema:
    others = tuple((f"{name}.json", json.dumps(text)) for name, text in imported.items())
    return Schema(next(NUMBERS), "json", json.dumps(root), imported=others)


def row(properties: dict[str, Any], *required: str, **more: Any) -> Schema:
    return schema({"type": "object", "properties": properties, "required": list(required), **more})


def ddl(of: Schema) -> str:
    return to_ddl(CODEC.fields(of)).replace("`", "")


def decode(of: Schema, texts: Sequence[str], reader: Schema | None = None, codec: JsonSchemaCodec = CODEC) -> Decoded:
    found = reader or of
    return codec.payloads(of, codec.fields(found), found).decode(
        pa.array([text.encode() for text in texts], pa.binary())
    )


def rejects(found: Decoded) -> list[tuple[int, str, str | None]]:
    return [(verdict.row, verdict.code, verdict.field) for verdict in found.verdicts]


def test_every_type_has_its_column() -> None:
    text = row(
        {
            "id": {"type": "integer"},
            "huge": {"type": "integer", "minimum": 0, "maximum": 2**64 - 1},
            "x": {"type": "number"},
            "price": {"type": "number", "multipleOf": 0.01},
            "small": {"type": "number", "multipleOf": 0.001, "minimum": -99, "maximum": 999},
            "name": {"type": "string", "maxLength": 5},
            "at": {"type": "string", "format": "date-time"},
            "day": {"type": ["string", "null"], "format": "date"},
            "raw": {"type": "string", "contentEncoding": "base64"},
            "ok": {"anyOf": [{"type": "null"}, {"type": "boolean"}]},
            "kind": {"enum": ["a", "b", None]},
            "fixed": {"const": 1.5},
            "tags": {"type": "array", "items": {"type": "string"}},
            "by": {"type": "object", "additionalProperties": {"type": "integer"}},
            "part": {"$ref": "#/definitions/part"},
            "both": {"allOf": [{"$ref": "#/definitions/part"}, {"properties": {"n": {"type": "integer"}}}]},
        },
        "id", "at", "day", "part",
        definitions={"part": {"type": "object", "properties": {"sku": {"type": "string"}}, "required": ["sku"]}},
    )  # fmt: skip
    assert ddl(text) == (
        "id BIGINT NOT NULL, huge DECIMAL(20,0), x DOUBLE, price DECIMAL(38,2), small DECIMAL(6,3), name STRING, "
        "at TIMESTAMP NOT NULL, day DATE, raw BINARY, ok BOOLEAN, kind STRING, fixed DOUBLE, tags ARRAY<STRING>, "
        "by MAP<STRING, BIGINT>, part STRUCT<sku: STRING NOT NULL> NOT NULL, "
        "both STRUCT<sku: STRING NOT NULL, n: BIGINT>"
    )


def test_references_of_the_registry_are_followed_and_nothing_else_is() -> None:
    part = {"type": "object", "properties": {"sku": {"type": "string", "minLength": 2}}, "required": ["sku"]}
    root = {"type": "object", "properties": {"part": {"$ref": "part.json"}}}
    text = schema(root, part=part)
    assert ddl(text) == "part STRUCT<sku: STRING NOT NULL>"
    assert rejects(decode(text, ['{"part": {"sku": "ab"}}', '{"part": {"sku": "a"}}'])) == [
        (1, "schema_violation", "/part/sku")
    ]
    at_home = {**root, "$id": "https://example.com/order.json"}
    assert ddl(schema(at_home, part=part)) == "part STRUCT<sku: STRING NOT NULL>"
    with pytest.raises(SchemaRefused, match=r"refers to part\.json, which is not among its references"):
        ddl(schema(root))


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ({"type": "array", "items": {"type": "string"}}, "a row is an object"),
        (True, "any value is allowed"),
        ({"type": "object"}, "no properties"),
        ({"properties": {"a": {}}}, "/a: it names no type"),
        ({"properties": {"a": {"type": ["string", "integer"]}}}, "/a: it may be string or integer"),
        ({"properties": {"a": {"oneOf": [{"type": "string"}, {"type": "integer"}]}}}, "/a: `oneOf` of several types"),
        ({"properties": {"a": {"type": "array"}}}, "/a: its elements have no type"),
        ({"properties": {"a": {"type": "object"}}}, "/a: the object has no properties"),
        ({"properties": {"_a": {"type": "string"}}}, "/_a: names that start with `_`"),
        ({"properties": {"a": {"type": "string"}, "A": {"type": "string"}}}, "only in case"),
        ({"properties": {"a": {"$ref": "#"}}}, "/a: the schema holds itself"),
        ({"properties": {"a": {"$ref": "#/definitions/b"}}}, "there is nothing at #/definitions/b"),
        ({"properties": {"a": {"type": "text"}}}, "/a: there is no type `text`"),
        ({"properties": {"a": {"type": "string", "pattern": "("}}}, "it is no JSON Schema"),
    ],
)
def test_what_no_row_can_be_is_refused_with_words(root: Any, said: str) -> None:
    found = schema(root)
    with pytest.raises(SchemaRefused) as refused:
        CODEC.payloads(found, CODEC.fields(found), found)
    assert said in str(refused.value)


RULES = row(
    {
        "id": {"type": "integer", "minimum": 1},
        "code": {"type": "string", "pattern": "^[A-Z]+$"},
        "lines": {
            "type": "array",
            "items": {"type": "object", "properties": {"qty": {"type": "integer", "maximum": 9}}},
        },
    },
    "id",
)


def test_a_broken_rule_is_told_with_its_place() -> None:
    texts = [
        '{"id": 1, "code": "AB", "lines": [{"qty": 9}]}',
        '{"id": 0}',
        '{"id": 1, "code": "ab"}',
        '{"id": 1, "lines": [{"qty": 1}, {"qty": 10}]}',
        '{"id": 1, "code": null}',
        '{"code": "AB"}',
        '{"id": "1"}',
        '{"id": 1',
        '{"id": 2, "more": {"x": [1e400]}}',
    ]
    found = decode(RULES, texts)
    assert rejects(found) == [
        (1, "schema_violation", "/id"),
        (2, "schema_violation", "/code"),
        (3, "schema_violation", "/lines/1/qty"),
        (4, "schema_violation", "/code"),
        (5, "missing_field", "/id"),
        (6, "wrong_type", "/id"),
        (7, "truncated_json", None),
        *([(8, "schema_violation", None)] if 8 in {verdict.row for verdict in found.verdicts} else []),
    ]
    assert found.data.column("id").to_pylist()[:8] == [1, None, None, None, None, None, None, None]
    assert found.verdicts[1].detail == 'the value does not match "^[A-Z]+$"'


def test_a_schema_of_types_alone_needs_no_validator_and_nulls_only_where_there_are_any() -> None:
    plain = row({"a": {"type": ["string", "null"]}, "b": {"type": "integer"}}, "b")
    made = CODEC.payloads(plain, CODEC.fields(plain), plain)
    assert isinstance(made, JsonSchemaDecoder)
    assert made.validator is None
    optional = row({"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}})
    found = decode(optional, ["{}", '{"a": null}', '{"a": "null"}', '{"b": [1, null]}', '{"b": [1]}'])
    assert rejects(found) == [(1, "schema_violation", "/a"), (3, "schema_violation", "/b/1")]
    assert found.data.column("a").to_pylist() == [None, None, "null", None, None]


def test_closed_objects_refuse_what_they_do_not_name() -> None:
    inner = {"type": "object", "properties": {"x": {"type": ["integer", "null"]}}, "additionalProperties": False}
    closed = row({"a": {"anyOf": [inner, {"type": "null"}]}}, additionalProperties=False)
    made = CODEC.payloads(closed, CODEC.fields(closed), closed)
    assert isinstance(made, JsonSchemaDecoder)
    assert rejects(decode(closed, ['{"a": {"x": 1}}', '{"b": 1}', '{"a": {"y": 1}}'])) == [
        (1, "schema_violation", "/b"),
        (2, "schema_violation", "/a/y"),
    ]
    mixed = row({"a": {"type": ["string", "null"]}, "b": {"anyOf": [inner, {"type": "null"}]}})
    assert rejects(decode(mixed, ['{"c": 1}', '{"b": {"y": 1}}'])) == [(1, "schema_violation", "/b")]


def test_fields_that_no_schema_names_are_counted_or_rejected() -> None:
    text = row({"a": {"type": ["integer", "null"]}})
    assert decode(text, ['{"a": 1, "b": 2}', "{}"]).unknown == {"b": 1}
    strict = decode(text, ['{"a": 1, "b": 2}', "{}"], codec=JsonSchemaCodec("reject"))
    assert rejects(strict) == [(0, "unknown_field", "/b")]


BEFORE = row(
    {
        "id": {"type": "integer"},
        "n": {"type": "integer"},
        "text": {"type": "string"},
        "gone": {"type": "string"},
        "part": {"type": "object", "properties": {"a": {"type": "string"}}},
        "many": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
    },
    "id",
)
AFTER = row(
    {
        "id": {"type": "integer"},
        "n": {"type": "integer", "maximum": 2**64},
        "text": {"type": "boolean"},
        "part": {"type": "object", "properties": {"a": {"type": "string", "format": "date"}, "b": {"type": "number"}}},
        "many": {"type": "array", "items": {"type": "object", "properties": {
            "a": {"type": "string"}, "b": {"type": "string"}}}},
        "new": {"type": "string"},
    },
    "id", "new",
)  # fmt: skip


def test_changes_are_told_by_kind_and_place() -> None:
    assert CODEC.changes(BEFORE, BEFORE) == []
    assert CODEC.changes(BEFORE, AFTER) == [
        Change("widen", "/n", "BIGINT", "DECIMAL(20,0)"),
        Change("incompatible", "/text", "STRING", "BOOLEAN"),
        Change("add", "/part/b", "", "DOUBLE"),
        Change("add", "/many/b", "", "STRING"),
        Change("add", "/new", "", "STRING"),
        Change("drop", "/gone", "STRING", ""),
    ]
    optional = row({"id": {"type": "integer"}})
    assert CODEC.changes(BEFORE, optional)[0] == Change("incompatible", "/id", "BIGINT NOT NULL", "BIGINT")


def test_a_reader_takes_the_changes_it_is_given_and_reads_old_and_new() -> None:
    changes = [change for change in CODEC.changes(BEFORE, AFTER) if change.path in ("/n", "/new", "/part/b")]
    grown = CODEC.evolved(BEFORE, AFTER, changes)
    assert grown.id == AFTER.id
    assert ddl(grown) == (
        "id BIGINT NOT NULL, n DECIMAL(20,0), text STRING, gone STRING, part STRUCT<a: STRING, b: DOUBLE>, "
        "many ARRAY<STRUCT<a: STRING>>, new STRING"
    )
    assert {change.path for change in CODEC.changes(grown, AFTER)} == {"/text", "/many/b", "/gone"}
    old = '{"id": 1, "n": 5, "gone": "g", "part": {"a": "x"}, "many": [{"a": "y"}]}'
    assert decode(BEFORE, [old], grown).data.to_pylist() == [
        {"id": 1, "n": Decimal(5), "text": None, "gone": "g", "part": {"a": "x", "b": None}, "many": [{"a": "y"}],
         "new": None}
    ]  # fmt: skip
    later = row({name: value for name, value in json.loads(AFTER.text)["properties"].items() if name != "text"}, "id")
    new = '{"id": 2, "new": "n", "many": [{"a": "y", "b": "z"}, null], "part": {"a": "2026-01-02"}}'
    found = decode(later, [new, '{"id": 3}'], grown, JsonSchemaCodec("reject"))
    assert found.data.to_pylist()[1]["id"] == 3
    assert rejects(found) == [(0, "schema_violation", "/many/1")]


def test_a_column_of_another_subject_is_null_even_if_the_text_has_the_name() -> None:
    text, other = (
        row({"a": {"type": ["integer", "null"]}}),
        row({"b": {"type": "string"}, "a": {"type": ["integer", "null"]}}),
    )
    made = CODEC.payloads(text, CODEC.fields(other), text)
    assert made.decode(pa.array([b'{"a": 1, "b": 5}'])).data.to_pylist() == [{"b": None, "a": 1}]


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 12), st.sampled_from(["", "AB", "ab", "x" * 9, "null"]), st.floats(0, 9)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=6,
)
TREE = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "type": "object",
    "properties": {
        "a": {"type": "integer", "minimum": 1},
        "b": {"type": ["string", "null"], "maxLength": 4},
        "c": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "d": {"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "number"}}, "required": ["a"]},
    },
    "required": ["a"],
}


@settings(max_examples=150, deadline=None)
@given(records=st.lists(st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4), min_size=1, max_size=8))
def test_what_the_reference_validator_refuses_is_rejected_and_nothing_else(records: list[dict[str, Any]]) -> None:
    """The reference takes 1.0 for an integer; we do not. Otherwise both say the same."""
    found = decode(TREE_SCHEMA, [json.dumps(record) for record in records])
    out = {verdict.row for verdict in found.verdicts}
    for number, record in enumerate(records):
        wrong = not ORACLE.is_valid(record) or isinstance(record.get("a"), float)
        assert (number in out) == wrong, (record, found.verdicts)


TREE_SCHEMA, ORACLE = schema(TREE), jsonschema.Draft7Validator(TREE)
