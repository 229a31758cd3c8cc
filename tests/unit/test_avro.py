"""Avro: the columns of each type, bad payloads with their place, what is refused, and what a change is called."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from tests.unit.avro_cases import CODEC, decoded, encoded, rows_of, schema

from penstock.errors import SchemaRefused
from penstock.formats.avro.blocks import FEW
from penstock.formats.types import to_ddl
from penstock.schemas.contract import Schema

WHEN = datetime(2026, 11, 15, 19, 48, 14, 123456, UTC)


def record(*kinds: Any, **fields: Any) -> dict[str, Any]:
    """A record of fields f0, f1, ... and of those that are named."""
    named = {**{f"f{number}": kind for number, kind in enumerate(kinds)}, **fields}
    return {"type": "record", "name": "R", "fields": [{"name": name, "type": kind} for name, kind in named.items()]}


def logical(base: str, name: str, **more: Any) -> dict[str, Any]:
    return {"type": base, "logicalType": name, **more}


MONEY = logical("bytes", "decimal", precision=10, scale=2)
DURATION = {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}
FIXED16 = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}


@pytest.mark.parametrize(
    ("kind", "ddl", "value", "held"),
    [
        ("boolean", "BOOLEAN NOT NULL", True, True),
        ("int", "INT NOT NULL", -1, -1),
        ("long", "BIGINT NOT NULL", 2**62, 2**62),
        ("float", "FLOAT NOT NULL", 1.5, 1.5),
        ("double", "DOUBLE NOT NULL", 0.1, 0.1),
        ("bytes", "BINARY NOT NULL", b"\xff", b"\xff"),
        ("string", "STRING NOT NULL", "ä", "ä"),
        (["null", "string"], "STRING", None, None),
        (["null", "int", "long"], "BIGINT", 5, 5),
        (logical("int", "date"), "DATE NOT NULL", date(2026, 2, 28), date(2026, 2, 28)),
        (logical("long", "timestamp-micros"), "TIMESTAMP NOT NULL", WHEN, WHEN),
        (logical("long", "timestamp-millis"), "TIMESTAMP NOT NULL", WHEN, WHEN.replace(microsecond=123000)),
        (logical("long", "timestamp-nanos"), "BIGINT NOT NULL", 123, 123),
        (logical("long", "local-timestamp-micros"), "TIMESTAMP NOT NULL", WHEN.replace(tzinfo=None), WHEN),
        (logical("int", "time-millis"), "INT NOT NULL", 1000, 1000),
        (logical("long", "time-micros"), "BIGINT NOT NULL", 1000, 1000),
        (logical("string", "uuid"), "STRING NOT NULL", str(UUID(int=7)), str(UUID(int=7))),
        (MONEY, "DECIMAL(10,2) NOT NULL", Decimal("-1.25"), Decimal("-1.25")),
        (logical("bytes", "decimal", precision=38), "DECIMAL(38,0) NOT NULL", Decimal(-(10**37)), Decimal(-(10**37))),
        (DURATION, "BINARY NOT NULL", b"x" * 12, b"x" * 12),
        ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "STRING NOT NULL", "B", "B"),
        ({"type": "map", "values": "int"}, "MAP<STRING, INT> NOT NULL", {"a": 1}, {"a": 1}),
        ({"type": "array", "items": ["null", "int"]}, "ARRAY<INT> NOT NULL", [1, None], [1, None]),
    ],
)
def test_a_type_becomes_its_column_alone_and_among_many(kind: Any, ddl: str, value: Any, held: Any) -> None:
    body = record(kind)
    assert to_ddl(CODEC.fields(schema(body))) == f"`f0` {ddl}"
    data = encoded(body, {"f0": value})
    for times in (1, FEW + 1):
        assert rows_of(decoded([data] * times, body)) == [{"f0": held}] * times


def test_a_fixed_uuid_is_text() -> None:
    body, value = record(FIXED16), UUID("12345678-1234-5678-1234-567812345678")
    for times in (1, FEW + 1):
        assert rows_of(decoded([value.bytes] * times, body)) == [{"f0": str(value)}] * times


def test_a_union_of_several_types_is_a_struct_with_one_field_for_each() -> None:
    body = record(["null", "string", "long", {"type": "record", "name": "P", "fields": [{"name": "x", "type": "int"}]}])
    assert to_ddl(CODEC.fields(schema(body))) == (
        "`f0` STRUCT<`member0`: STRING, `member1`: BIGINT, `member2`: STRUCT<`x`: INT NOT NULL>>"
    )
    data = [b"\x00", b"\x02\x02a", b"\x04\x06", b"\x06\x0a"]
    expected = [
        {"f0": None},
        {"f0": {"member0": "a", "member1": None, "member2": None}},
        {"f0": {"member0": None, "member1": 3, "member2": None}},
        {"f0": {"member0": None, "member1": None, "member2": {"x": 5}}},
    ]
    for times in (1, FEW):
        assert rows_of(decoded(data * times, body)) == expected * times


BOUNDED = b"\xfe\xff\xff\xff\x0f"
"""The number 2147483647."""


@pytest.mark.parametrize(
    ("body", "data", "field", "detail"),
    [
        (record("int"), b"", "/f0", "At byte 0 of 0: the record ends in the middle of a number."),
        (record("int"), b"\x80", "/f0", "At byte 0 of 1: the record ends in the middle of a number."),
        (record("int"), b"\x02\x02", None, "At byte 1 of 2: the record ends here, and 1 bytes follow."),
        (record("int"), b"\x80\x80\x80\x80\x20", "/f0", "At byte 0 of 5: 4294967296 does not fit an int."),
        (record("long"), b"\xff" * 11, "/f0", "At byte 0 of 11: a number has more than 10 bytes."),
        (record("long"), b"\xff" * 9 + b"\x02", "/f0", "At byte 0 of 10: a number has more than 64 bits."),
        (record("string"), BOUNDED, "/f0", "At byte 0 of 5: a length of 2147483647 bytes, and 0 are left."),
        (record("bytes"), b"\x01", "/f0", "At byte 0 of 1: a length of -1 bytes, and 0 are left."),
        (record("string"), b"\x04\xff\xfe", "/f0", "At byte 0 of 3: text that is not UTF-8, at its byte 0."),
        (record("boolean"), b"\x02", "/f0", "At byte 0 of 1: the byte 2 is neither true nor false."),
        (record("double"), b"1234567", "/f0", "At byte 0 of 7: 8 bytes are due and 7 are left."),
        (record(["null", "int"]), b"\x04", "/f0", "At byte 0 of 1: branch 2 of a union that has 2."),
        (record(["null", "int"]), b"\x01", "/f0", "At byte 0 of 1: branch -1 of a union that has 2."),
        (record({"type": "enum", "name": "E", "symbols": ["A"]}), b"\x02", "/f0", "symbol 1 of an enum that has 1"),
        (record(logical("int", "date")), BOUNDED, "/f0", "day 2147483647 is outside of the years 1 to 9999"),
        (record(logical("long", "timestamp-millis")), b"\xfe" + b"\xff" * 8 + b"\x01", "/f0", "outside of the years"),
        (record(logical("bytes", "decimal", precision=2)), b"\x02\x64", "/f0", "a decimal of more than 2 digits"),
        (record(logical("bytes", "decimal", precision=2)), b"\x00", "/f0", "a decimal without a byte"),
        (record({"type": "array", "items": "int"}), b"\x04\x02\x80", "/f0/1", "in the middle of a number"),
        (record({"type": "array", "items": "int"}), BOUNDED, "/f0", "2147483647 items are due, and 0 bytes are left"),
        (record("int", {"type": "array", "items": "null"}), b"\x02" + BOUNDED, "/f1", "items that take no bytes"),
        (record({"type": "map", "values": "int"}), b"\x02\x02a", "/f0/a", "in the middle of a number"),
        (record(a=record(b="string") | {"name": "I"}), b"\x08x", "/a/b", "a length of 4 bytes, and 1 are left"),
    ],
)
def test_a_bad_payload_says_what_and_where_alone_and_among_good_ones(
    body: Any, data: bytes, field: str | None, detail: str
) -> None:
    for number in (0, FEW + 3):
        made = decoded([data] * (number + 1), body)
        assert [verdict.row for verdict in made.verdicts] == list(range(number + 1))
        last = made.verdicts[-1]
        assert (last.code, last.field) == ("bad_payload", field)
        assert detail in str(last.detail)
        assert made.data.column(0).null_count == number + 1


def test_bad_payloads_do_not_harm_their_neighbours() -> None:
    body = record("long", {"type": "array", "items": "string"}, ["null", "double"])
    good = encoded(body, {"f0": 7, "f1": ["a", "bc"], "f2": 0.5})
    data = [good if number % 3 else good[: number % len(good)] for number in range(300)]
    made = decoded(data, body)
    assert [verdict.row for verdict in made.verdicts] == list(range(0, 300, 3))
    rows = rows_of(made)
    assert all(row == {"f0": 7, "f1": ["a", "bc"], "f2": 0.5} for number, row in enumerate(rows) if number % 3)


def test_a_length_of_two_gigabytes_takes_no_memory() -> None:
    body = record({"type": "array", "items": "string"})
    data = [b"\x02" + BOUNDED, BOUNDED, b"\x01" + BOUNDED] * 50
    tracemalloc.start()
    made = decoded(data, body)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(made.verdicts) == 150
    assert peak < 20_000_000


def test_one_record_with_a_long_list_among_many_with_short_ones_is_read() -> None:
    body = record({"type": "array", "items": "int"})
    lists = [[1] * (number % 4) for number in range(100)] + [list(range(20_000))]
    made = decoded([encoded(body, {"f0": each}) for each in lists], body)
    assert made.verdicts == []
    assert [row["f0"] for row in rows_of(made)] == lists


def test_of_a_key_that_comes_twice_in_a_map_the_last_counts() -> None:
    body = record({"type": "map", "values": "int"})
    data = b"\x04\x02a\x02\x02a\x04\x00"
    for times in (1, FEW + 1):
        assert rows_of(decoded([data] * times, body)) == [{"f0": {"a": 2}}] * times


def test_blocks_that_give_their_size_are_read() -> None:
    body = record({"type": "array", "items": "int"})
    data = b"\x03\x04\x02\x04\x02\x06\x00"  # two items in four bytes, then one
    for times in (1, FEW + 1):
        assert rows_of(decoded([data] * times, body)) == [{"f0": [1, 2, 3]}] * times


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "its text is not JSON"),
        ('"string"', "it is of the type `string`, and only a record has columns"),
        ('["null", "int"]', "it is of the type `union`"),
        (json.dumps(record("Nothing")), "nothing says what the type `Nothing` is"),
        (json.dumps(record(["null", "R"])), "`R` holds itself, at any depth"),
        (json.dumps(record(logical("bytes", "decimal", precision=39))), "a decimal of 39 digits"),
        (json.dumps(record(a="int", A="int")), "`a` and `A` of `R` are one name to a table"),
        (json.dumps(record(_own="int")), "names that begin with `_` are penstock's own: _own"),
        (json.dumps(record(**{"a-b": "int"})), "`a-b` is no name of a field"),
        (json.dumps(record("null")), "it has no field that could hold a value"),
        ('{"type": "record", "name": "R"}', "`R` has no fields"),
        ('{"type": "record", "fields": []}', "a record has no name"),
        (json.dumps(record({"type": "fixed", "name": "F"})), "the fixed `F` has no size"),
        (json.dumps(record([["null"]])), "a union is empty, or holds a union"),
        ('{"type": ' * 200 + '"int"' + "}" * 200, "it is more than 64 levels deep"),
    ],
)
def test_a_schema_that_rows_cannot_have_is_refused_with_its_reason(text: str, why: str) -> None:
    with pytest.raises(SchemaRefused, match="schema 5 cannot give rows") as caught:
        CODEC.fields(Schema(5, "avro", text))
    assert why in caught.value.what
    with pytest.raises(SchemaRefused, match="it is json, not Avro"):
        CODEC.fields(Schema(5, "json", "{}"))


def test_a_small_text_that_stands_for_endless_columns_is_refused() -> None:
    body: Any = {"type": "record", "name": "L0", "fields": [{"name": "x", "type": "int"}]}
    for level in range(1, 12):
        inner = [{"name": f"f{number}", "type": body if number == 0 else f"L{level - 1}"} for number in range(10)]
        body = {"type": "record", "name": f"L{level}", "fields": inner}
    with pytest.raises(SchemaRefused, match="more than 10000 fields"):
        CODEC.fields(schema(body))


def test_a_schema_that_others_refer_to_is_imported() -> None:
    address = json.dumps(
        {"type": "record", "name": "Address", "namespace": "x", "fields": [{"name": "c", "type": "int"}]}
    )
    whole = Schema(3, "avro", json.dumps(record("x.Address")), (), (("x.Address", address),))
    assert to_ddl(CODEC.fields(whole)) == "`f0` STRUCT<`c`: INT NOT NULL> NOT NULL"
    made = CODEC.payloads(whole, CODEC.fields(whole), whole).decode(pa.array([b"\x06"], pa.binary()))
    assert made.data.to_pylist() == [{"f0": {"c": 3}}]


OPTIONAL = {"name": "note", "type": ["null", "string"], "default": None}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (record("int"), record("int"), []),
        (record("long"), record("int"), []),
        (record("string"), record("bytes"), []),
        (record("int"), record("long"), [("widen", "/f0", "INT", "BIGINT")]),
        (record("float"), record("double"), [("widen", "/f0", "FLOAT", "DOUBLE")]),
        (record("long"), record("double"), [("incompatible", "/f0", "BIGINT", "double does not become BIGINT")]),
        (record("int"), record(["null", "int"]), [("widen", "/f0", "INT NOT NULL", "INT")]),
        (record(["null", "int"]), record("int"), []),
        (record("int"), record("int", "long"), [("add", "/f1", "", "BIGINT")]),
        (record("int"), record("int", "null"), []),
        (
            record(logical("bytes", "decimal", precision=5, scale=2)),
            record(logical("bytes", "decimal", precision=7, scale=2)),
            [("widen", "/f0", "DECIMAL(5,2)", "DECIMAL(7,2)")],
        ),
        (
            record(logical("long", "timestamp-millis")),
            record("long"),
            [("incompatible", "/f0", "TIMESTAMP", "long does not become TIMESTAMP")],
        ),
        (
            record({"type": "array", "items": record(a="int") | {"name": "I"}}),
            record({"type": "array", "items": record(a="int", b="int") | {"name": "I"}}),
            [("add", "/f0/b", "", "INT")],
        ),
        (
            record({"type": "enum", "name": "E", "symbols": ["A"]}),
            record({"type": "enum", "name": "E", "symbols": ["A", "B"]}),
            [],
        ),
        (
            record(["null", "int"]),
            record(F0="int"),
            [("drop", "/f0", "INT", ""), ("incompatible", "/F0", "", "spelled like another column but for its case")],
        ),
        (
            record("int"),
            record("int", _x="int"),
            [("incompatible", "/_x", "", "names that begin with `_` are penstock's own")],
        ),
        (
            record(["null", "int"]),
            record(["null", "int", "string"]),
            [("incompatible", "/f0", "INT", "string does not become INT")],
        ),
    ],
)
def test_changes_are_named_from_the_view_of_the_columns(before: Any, after: Any, expected: list[Any]) -> None:
    found = CODEC.changes(schema(before), schema(after, 2))
    assert [(change.kind, change.path, change.before, change.after) for change in found] == expected


def test_a_widened_reader_reads_the_old_and_the_new() -> None:
    before, after = schema(record("int", "int")), schema(record("long", ["null", "int"]), 2)
    changes = CODEC.changes(before, after)
    wide = CODEC.evolved(before, after, changes)
    assert to_ddl(CODEC.fields(wide)) == "`f0` BIGINT NOT NULL, `f1` INT"
    assert CODEC.changes(wide, after) == []
    old = CODEC.payloads(before, CODEC.fields(wide), wide).decode(pa.array([b"\x02\x04"], pa.binary()))
    new = CODEC.payloads(after, CODEC.fields(wide), wide).decode(pa.array([b"\x80\x80\x80\x80\x20\x00"], pa.binary()))
    assert old.data.to_pylist() + new.data.to_pylist() == [{"f0": 1, "f1": 2}, {"f0": 2**32, "f1": None}]


def test_a_branch_that_the_column_cannot_hold_is_bad_for_its_records_alone() -> None:
    writer, reader = record(["int", "string"]), record(["null", "int"])
    made = decoded([b"\x00\x06", b"\x02\x02a"] * FEW, writer, reader)
    assert [verdict.row for verdict in made.verdicts] == list(range(1, 2 * FEW, 2))
    assert {verdict.detail for verdict in made.verdicts} == {"At byte 1 of 3: string does not become INT."}
    assert rows_of(made)[0] == {"f0": 3}
