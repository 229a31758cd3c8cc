"""Protobuf schemas: the row that each gives, what is refused, files that import others, compiled ones."""

from __future__ import annotations

import base64

import pytest
from tests.unit.protobuf_kit import BARE, NUMBERS, schema

from penstock.errors import SchemaRefused
from penstock.formats.protobuf.codec import ProtobufCodec
from penstock.formats.protobuf.files import compiled, descriptors
from penstock.formats.types import to_ddl
from penstock.schemas.contract import Schema
from penstock.testing.protobuf_shapes import OLD, RICH


def test_every_type_has_its_column() -> None:
    assert to_ddl(BARE.fields(Schema(1, "protobuf", RICH))).replace("`", "") == (
        "d DOUBLE, f FLOAT, i32 INT, i64 BIGINT, u32 BIGINT, u64 DECIMAL(20,0), s32 INT, s64 BIGINT, x32 BIGINT, "
        "x64 DECIMAL(20,0), sx32 INT, sx64 BIGINT, b BOOLEAN, text STRING, raw BINARY, colour STRING, maybe BIGINT, "
        "maybe_text STRING, maybe_colour STRING, numbers ARRAY<INT>, loose ARRAY<BIGINT>, texts ARRAY<STRING>, "
        "colours ARRAY<STRING>, doubles ARRAY<DOUBLE>, large ARRAY<DECIMAL(20,0)>, raws ARRAY<BINARY>, "
        "part STRUCT<sku: STRING, qty: INT, notes: ARRAY<STRUCT<text: STRING>>>, "
        "parts ARRAY<STRUCT<sku: STRING, qty: INT, notes: ARRAY<STRUCT<text: STRING>>>>, nothing BOOLEAN, "
        "nothings ARRAY<BOOLEAN>, counts MAP<STRING, INT>, "
        "by_id MAP<STRING, STRUCT<sku: STRING, qty: INT, notes: ARRAY<STRUCT<text: STRING>>>>, "
        "by_truth MAP<STRING, STRING>, by_large MAP<STRING, STRING>, times_by MAP<STRING, TIMESTAMP>, number INT, "
        "word STRING, piece STRUCT<sku: STRING, qty: INT, notes: ARRAY<STRUCT<text: STRING>>>, when TIMESTAMP, "
        "at TIMESTAMP, ats ARRAY<TIMESTAMP>, took BIGINT, w_i32 INT, w_u64 DECIMAL(20,0), w_text STRING, w_raw BINARY, "
        "w_bool BOOLEAN, w_d DOUBLE, w_texts ARRAY<STRING>, free STRING, any_value STRING, "
        "any STRUCT<type_url: STRING, value: BINARY>, empty BOOLEAN"
    )
    assert to_ddl(BARE.fields(Schema(2, "protobuf", OLD))).startswith("`id` BIGINT NOT NULL, `name` STRING, ")


@pytest.mark.parametrize(
    ("text", "syntax", "said"),
    [
        ("message A { B b = 1; } message B { repeated A a = 1; }", "proto3", "field /b/a: message t.A holds itself"),
        ("message A { map<string, A> a = 1; }", "proto3", "field /a: message t.A holds itself"),
        ("message A { int32 _x = 1; }", "proto3", "field /_x: names that start with `_`"),
        ("message A { int32 ab = 1; int32 aB = 2; }", "proto3", "only in case"),
        ("message A { repeated group G = 1 { optional int32 x = 1; } }", "proto2", "groups"),
        ("message A {}", "proto3", "it has no fields"),
        ("enum E { X = 0; }", "proto3", "it holds no message"),
        ("message A { int32 x = 1 }", "proto3", "protoc cannot compile it"),
        ('import "other.proto"; message A { int32 x = 1; }', "proto3", "other.proto: File not found"),
    ],
)
def test_what_no_row_can_be_is_refused_with_words(text: str, syntax: str, said: str) -> None:
    with pytest.raises(SchemaRefused) as refused:
        BARE.fields(schema(text, syntax))
    assert said in str(refused.value)


def test_imports_are_compiled_and_names_that_lead_out_of_the_folder_are_refused() -> None:
    inner = 'syntax = "proto3"; package t; message Inner { int32 x = 1; }'
    text = 'import "deep/inner.proto"; message A { Inner inner = 1; }'
    found = schema(text, imported=(("deep/inner.proto", inner),))
    assert to_ddl(BARE.fields(found)) == "`inner` STRUCT<`x`: INT>"
    for name in ("../inner.proto", "/tmp/inner.proto", "a/../../b.proto", ""):
        with pytest.raises(SchemaRefused, match="no name of a file"):
            BARE.fields(schema(text, imported=((name, inner),)))


def test_a_compiled_schema_is_the_same_schema() -> None:
    text = schema("message A { int32 x = 1; } message B { string y = 1; }")
    portable = ProtobufCodec("t.B").portable(text)
    assert portable.id == text.id
    assert "message" not in portable.text
    assert ProtobufCodec("t.B").fields(portable) == ProtobufCodec("t.B").fields(text)
    assert compiled(portable).text == portable.text


@pytest.mark.parametrize("outer_compiled", [False, True])
@pytest.mark.parametrize("inner_compiled", [False, True])
def test_a_compiled_file_and_a_text_import_each_other(outer_compiled: bool, inner_compiled: bool) -> None:
    """Confluent's client for Python registers single compiled files; others register texts."""
    when = 'import "google/protobuf/timestamp.proto";'
    inner = schema(f"{when} message Inner {{ google.protobuf.Timestamp at = 1; }}")
    imported = (("in/inner.proto", inner.text),)
    outer = schema('import "in/inner.proto"; message Outer { Inner inner = 1; }', imported=imported)
    one, other = (single_file(each) if is_compiled else each.text for each, is_compiled in
                  ((outer, outer_compiled), (inner, inner_compiled)))  # fmt: skip
    found = Schema(next(NUMBERS), "protobuf", one, imported=(("in/inner.proto", other),))
    assert to_ddl(BARE.fields(found)) == "`inner` STRUCT<`at`: TIMESTAMP>"


def single_file(of: Schema) -> str:
    return base64.b64encode(descriptors(of).file[-1].SerializeToString()).decode()


def test_a_compiled_file_that_imports_what_nobody_gave_is_refused() -> None:
    imported = (("os.proto", 'syntax = "proto3"; package t; message Inner { int32 x = 1; }'),)
    outer = schema('import "os.proto"; message Outer { Inner inner = 1; }', imported=imported)
    with pytest.raises(SchemaRefused, match=r"it imports os\.proto, which is not among its references"):
        BARE.fields(Schema(next(NUMBERS), "protobuf", single_file(outer)))


def test_another_message_is_chosen_by_its_name() -> None:
    text = schema("message A { int32 x = 1; } message B { message C { string y = 1; } C c = 1; }")
    assert ProtobufCodec().name(text) == "t.A"
    assert to_ddl(ProtobufCodec("t.B.C").fields(text)) == "`y` STRING"
    with pytest.raises(SchemaRefused, match=r"no message `t.BC`.*t\.B\.C"):
        ProtobufCodec("t.BC").fields(text)
