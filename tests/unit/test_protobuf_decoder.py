"""Protobuf by hand: what a schema says of a row, what becomes of odd bytes, and how schemas change."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.errors import SchemaRefused
from penstock.formats.contract import Decoded
from penstock.formats.protobuf.codec import ProtobufCodec
from penstock.formats.protobuf.files import compiled, descriptors
from penstock.formats.protobuf.indexes import encoded, read_indexes
from penstock.formats.protobuf.messages import messages_of
from penstock.formats.types import to_ddl
from penstock.schemas.contract import Change, Schema
from penstock.testing.protobuf_shapes import OLD, RICH

BARE = ProtobufCodec(framed=False)
NUMBERS = iter(range(1, 10_000))


def schema(text: str, syntax: str = "proto3", **parts: Any) -> Schema:
    return Schema(next(NUMBERS), "protobuf", f'syntax = "{syntax}"; package t;\n{text}', **parts)


def decode(
    codec: ProtobufCodec, writer: Schema, bodies: Sequence[bytes], reader: Schema | None = None, size: int = 0
) -> Decoded:
    found = reader or writer
    values = pa.array([*bodies], pa.binary())
    assert not size or len(values) == size
    return codec.payloads(writer, codec.fields(found), found).decode(values)


def one_of(of: Schema, of_name: str = "", /, **values: Any) -> Any:
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(messages_of(of).named(of_name))(**values)


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


TWO = schema("message A { int32 x = 1; } message B { message C { string y = 1; } C c = 1; }")


def test_message_indexes_choose_the_message() -> None:
    body = one_of(TWO, "t.A", x=5).SerializeToString()
    bodies = [
        b"\x00",
        b"\x02\x00",
        b"\x82\x00\x80\x00",
        b"\x02\x02",
        b"\x04\x02\x00",
        b"\x02\x08",
        b"\x00",
        b"\x03\x00",
    ]
    found = decode(ProtobufCodec(), TWO, [head + body for head in bodies])
    assert found.data.column("x").to_pylist() == [5, 5, 5, None, None, None, 5, None]
    assert [(verdict.row, verdict.code) for verdict in found.verdicts] == [(n, "bad_payload") for n in (3, 4, 5, 7)]
    assert [verdict.detail for verdict in found.verdicts] == [
        "It holds the message t.B; this pipeline reads t.A.",
        "It holds the message t.B.C; this pipeline reads t.A.",
        f"Its message indexes [4] name no message of schema {TWO.id}.",
        "It says that it has -2 message indexes.",
    ]


def test_a_nested_message_is_found_behind_its_indexes() -> None:
    body = one_of(TWO, "t.B.C", y="yes").SerializeToString()
    found = decode(
        ProtobufCodec("t.B.C"), TWO, [b"\x04\x02\x00" + body, b"\x00" + body, b"", b"\x04\x02", b"\xff" * 12]
    )
    assert found.data.column("y").to_pylist() == ["yes", None, None, None, None]
    assert [verdict.row for verdict in found.verdicts] == [1, 2, 3, 4]


@pytest.mark.parametrize("indexes", [(0,), (1,), (1, 0), (5, 70, 300)])
def test_indexes_are_read_as_they_were_written(indexes: tuple[int, ...]) -> None:
    assert read_indexes(encoded(indexes) + b"rest") == (indexes, len(encoded(indexes)))


SIMPLE = schema(
    "message A { string name = 1; repeated int32 n = 2; A2 inner = 3; int64 last = 4; } message A2 { string x = 1; }"
)


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        (b"\x0a\x05abc", "/name", "It is cut: at byte 2 it asks for 5 bytes, and has 3."),
        (b"\x0a\xff\xff\xff\xff\x07abc", "/name", "asks for 2,147,483,647 bytes, and has 3."),
        (b"\x0a\x02\xff\xfe", "/name", "The text is not UTF-8."),
        (b"\x1a\x04\x0a\x02\xff\xfe", "/inner/x", "The text is not UTF-8."),
        (b"\x20", "/last", "It ends within the number at byte 1."),
        (b"\x20" + b"\xff" * 11, "/last", "The number at byte 1 has more than 10 bytes."),
        (b"\x00\x01", None, "At byte 0 a field has the number 0."),
        (b"\x0f", "/name", "At byte 1 there is the wire type 7."),
        (b"\x0c", "/name", "At byte 1 a group ends that did not begin."),
        (b"\x0b", "/name", "a group begins that is cut"),
    ],
)
def test_a_bad_message_says_where_it_is_bad(body: bytes, field: str | None, said: str) -> None:
    good = one_of(SIMPLE, name="ok").SerializeToString()
    found = decode(BARE, SIMPLE, [good, body, good])
    (verdict,) = found.verdicts
    assert (verdict.row, verdict.code, verdict.field) == (1, "bad_payload", field)
    assert said in str(verdict.detail)
    assert found.data.column("name").to_pylist() == ["ok", None, "ok"]


def test_one_bad_message_among_many_costs_only_itself() -> None:
    good = [one_of(SIMPLE, last=number).SerializeToString() for number in range(20_000)]
    bodies = [b"\x20" if number % 4_999 == 17 else body for number, body in enumerate(good)]
    found = decode(BARE, SIMPLE, bodies)
    bad = [17, 5_016, 10_015, 15_014]
    assert [verdict.row for verdict in found.verdicts] == bad
    assert found.data.column("last").to_pylist() == [None if n in bad else n for n in range(20_000)]


def test_absent_fields_are_null_only_where_absence_can_be_told() -> None:
    text = schema(
        "message A { int32 plain = 1; optional int32 told = 2; oneof o { string a = 3; int32 b = 4; } "
        "repeated int32 many = 5; }"
    )
    found = decode(BARE, text, [b"", b"\x08\x00\x10\x00\x20\x00"])
    assert found.data.to_pylist() == [
        {"plain": 0, "told": None, "a": None, "b": None, "many": []},
        {"plain": 0, "told": 0, "a": None, "b": 0, "many": []},
    ]


def test_required_fields_of_proto2_must_be_there() -> None:
    text = schema(
        "message A { required int64 id = 1; repeated Line lines = 2; message Line { required string sku = 1; } }",
        "proto2",
    )
    good, empty_line = b"\x08\x01", b"\x08\x01\x12\x03\x0a\x01x\x12\x00"
    found = decode(BARE, text, [good, b"", empty_line])
    assert [(v.row, v.code, v.field, v.detail) for v in found.verdicts] == [
        (1, "bad_payload", "/id", "A required field is missing."),
        (2, "bad_payload", "/lines/1/sku", "A required field is missing."),
    ]
    assert found.data.column("id").to_pylist() == [1, None, None]


def test_a_message_that_lacks_what_it_requires_deep_inside_crashes_nothing() -> None:
    """Google's own search for what is missing does, on bytes like these."""
    old = Schema(2, "protobuf", OLD)
    bodies = [
        b"\x08\x01" + inner for inner in (b"\x3a\x00", b"\x32\x00", b"\x62\x00", b"\x32\x03\x0a\x01x\x32\x02\x10\x01")
    ]
    found = decode(BARE, old, bodies * 500)
    assert {verdict.field for verdict in found.verdicts} == {"/line/sku", "/lines/0/sku", "/piece/sku", "/lines/1/sku"}
    assert len(found.verdicts) == 2_000


def test_an_enum_is_its_name_and_a_number_without_one_is_its_digits() -> None:
    text = schema("enum E { NONE = 0; RED = 1; } message A { E e = 1; }")
    found = decode(BARE, text, [b"\x08\x01", b"\x08\x07", b"", b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"])
    assert found.data.column("e").to_pylist() == ["RED", "7", "NONE", "-1"]


def test_unsigned_numbers_keep_their_value() -> None:
    text = schema("message A { uint64 u = 1; uint32 v = 2; }")
    found = decode(BARE, text, [one_of(text, u=2**64 - 1, v=2**32 - 1).SerializeToString()])
    assert found.data.to_pylist() == [{"u": Decimal(2**64 - 1), "v": 2**32 - 1}]


def test_times_out_of_range_are_rejected_with_their_field() -> None:
    text = schema('import "google/protobuf/timestamp.proto"; message A { repeated google.protobuf.Timestamp at = 1; }')
    good = one_of(text)
    good.at.add(seconds=1, nanos=1_999)
    bad = one_of(text)
    bad.at.add(seconds=1)
    bad.at.add(seconds=1 << 60)
    found = decode(BARE, text, [good.SerializeToString(), bad.SerializeToString()])
    (verdict,) = found.verdicts
    assert (verdict.row, verdict.code, verdict.field) == (1, "bad_payload", "/at/1")
    assert found.data.column("at").cast(pa.list_(pa.timestamp("us"))).to_pylist()[0][0].microsecond == 1
    assert found.data.column("at").to_pylist()[1] is None


def test_unknown_fields_are_counted_or_rejected() -> None:
    newer = schema(
        "message A { string name = 1; A2 inner = 3; int64 more = 9; } message A2 { string x = 1; int32 y = 8; }"
    )
    bodies = [
        one_of(newer, name="a").SerializeToString(),
        one_of(newer, name="b", more=5).SerializeToString(),
        one_of(newer, name="c", more=5, inner={"x": "x", "y": 5}).SerializeToString(),
    ]
    found = decode(BARE, SIMPLE, bodies)
    assert found.data.column("name").to_pylist() == ["a", "b", "c"]
    assert found.unknown == {"9": 2, "inner/8": 1}
    strict = decode(ProtobufCodec(framed=False, unknown_fields="reject"), SIMPLE, bodies)
    assert [(verdict.row, verdict.code, verdict.field) for verdict in strict.verdicts] == [
        (1, "unknown_field", "/9"),
        (2, "unknown_field", "/9"),
    ]
    assert strict.data.column("name").to_pylist() == ["a", None, None]


def test_a_wide_reader_takes_what_a_narrow_writer_wrote() -> None:
    writer = schema("message A { int32 n = 1; float f = 2; repeated int32 m = 3; B b = 5; } message B { int32 x = 1; }")
    reader = schema(
        "message A { int64 n = 1; double f = 2; repeated uint64 m = 3; string new = 4; B sub = 5; }"
        "message B { int64 y = 1; string z = 2; }"
    )
    body = one_of(writer, n=-1, f=0.5, m=[1, 2], b={"x": 3}).SerializeToString()
    found = decode(BARE, writer, [body, b""], reader)
    assert found.data.to_pylist() == [
        {"n": -1, "f": 0.5, "m": [1, 2], "new": None, "sub": {"y": 3, "z": None}},
        {"n": 0, "f": 0.0, "m": [], "new": None, "sub": None},
    ]
    with pytest.raises(SchemaRefused, match="field n: the row's type is INT"):
        decode(BARE, reader, [], writer)


def test_a_writer_that_shares_no_field_gives_rows_of_nulls() -> None:
    writer, reader = (
        schema("message A { int32 x = 7; }"),
        schema("message A { string y = 8; B b = 9; } message B { int32 z = 1; }"),
    )
    found = decode(BARE, writer, [b"\x38\x01", b"", b"\x38"], reader)
    assert found.data.to_pylist() == [{"y": None, "b": None}] * 3
    assert [verdict.row for verdict in found.verdicts] == [2]


BEFORE = schema(
    "message A { int32 id = 1; string name = 2; int32 n = 3; B b = 4; repeated B many = 5; int32 gone = 6; "
    "map<string, B> by = 8; }"
    "message B { int32 x = 1; int32 wide = 2; }"
)
AFTER = schema(
    "message A { int32 id = 1; string full_name = 2; string n = 3; B b = 4; repeated B many = 5; C fresh = 7; "
    "map<string, B> by = 8; }"
    "message B { int32 x = 1; int64 wide = 2; string added = 3; } message C { B b = 1; }"
)


def test_changes_are_told_by_kind_and_place() -> None:
    assert BARE.changes(BEFORE, BEFORE) == []
    assert BARE.changes(BEFORE, AFTER) == [
        Change("rename", "/name", "name", "full_name"),
        Change("incompatible", "/n", "INT", "STRING"),
        Change("widen", "/b/wide", "INT", "BIGINT"),
        Change("add", "/b/added", "", "STRING"),
        Change("widen", "/many/wide", "INT", "BIGINT"),
        Change("add", "/many/added", "", "STRING"),
        Change("add", "/fresh", "", "STRUCT<`b`: STRUCT<`x`: INT, `wide`: BIGINT, `added`: STRING>>"),
        Change("widen", "/by/wide", "INT", "BIGINT"),
        Change("add", "/by/added", "", "STRING"),
        Change("drop", "/gone", "INT", ""),
    ]


def test_what_resolves_by_itself_is_no_change() -> None:
    wide, narrow = (
        schema("message A { int64 n = 1; int32 m = 2; }"),
        schema("message A { sint32 n = 1; sfixed32 m = 2; }"),
    )
    assert BARE.changes(wide, narrow) == []
    assert [change.kind for change in BARE.changes(narrow, wide)] == ["widen"]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("int32 n = 1;", "repeated int32 n = 1;", Change("incompatible", "/n", "INT", "ARRAY<INT>")),
        ("int32 n = 1;", "int32 m = 2; int32 n = 3;", Change("incompatible", "/n", "number 1", "number 3")),
        ("string n = 1;", "google.protobuf.Struct n = 1;",
         Change("incompatible", "/n", "STRING", "google.protobuf.Struct")),
        ("map<string, int32> n = 1;", "map<string, string> n = 1;",
         Change("incompatible", "/n", "MAP<STRING, INT>", "MAP<STRING, STRING>")),
    ],
)  # fmt: skip
def test_what_cannot_be_read_into_the_column_is_incompatible(before: str, after: str, told: Change) -> None:
    head = 'import "google/protobuf/struct.proto";'
    one, other = schema(f"{head} message A {{ {before} }}"), schema(f"{head} message A {{ {after} }}")
    assert told in BARE.changes(one, other)


def test_a_reader_takes_the_changes_it_is_given_and_no_others() -> None:
    changes = BARE.changes(BEFORE, AFTER)
    taken = [change for change in changes if change.path in ("/b/added", "/fresh", "/many/wide", "/name")]
    grown = BARE.evolved(BEFORE, AFTER, taken)
    assert grown.id == AFTER.id
    assert to_ddl(BARE.fields(grown)).replace("`", "") == (
        "id INT, name STRING, n INT, b STRUCT<x: INT, wide: INT, added: STRING>, "
        "many ARRAY<STRUCT<x: INT, wide: BIGINT>>, gone INT, by MAP<STRING, STRUCT<x: INT, wide: INT>>, "
        "fresh STRUCT<b: STRUCT<x: INT, wide: BIGINT, added: STRING>>"
    )
    left = {change.path for change in BARE.changes(grown, AFTER)}
    assert left == {"/name", "/n", "/b/wide", "/many/added", "/by/wide", "/by/added", "/gone"}
    old = one_of(BEFORE, id=1, name="a", b={"x": 2, "wide": 3}, gone=4).SerializeToString()
    found = decode(BARE, BEFORE, [old], grown).data.to_pylist()[0]
    assert (found["name"], found["b"], found["fresh"], found["gone"]) == (
        "a",
        {"x": 2, "wide": 3, "added": None},
        None,
        4,
    )


def test_a_reader_grows_more_than_once_and_knows_every_shape() -> None:
    rich = Schema(1, "protobuf", RICH)
    once = BARE.evolved(rich, rich, [])
    again = BARE.evolved(once, rich, [])
    assert BARE.fields(again) == BARE.fields(once) == BARE.fields(rich)
    assert BARE.changes(again, rich) == []
