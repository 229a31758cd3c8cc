"""Protobuf values in their columns: absent ones, enums, unsigned numbers, the well-known time."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
from tests.unit.protobuf_kit import BARE, decode, one_of, schema


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
