"""Protobuf by hand: which message it is, and what becomes of odd bytes."""

from __future__ import annotations

import pytest
from tests.unit.protobuf_kit import BARE, decode, one_of, schema

from penstock.formats.protobuf.codec import ProtobufCodec
from penstock.formats.protobuf.indexes import encoded, read_indexes
from penstock.schemas.contract import Schema
from penstock.testing.protobuf_shapes import OLD

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
