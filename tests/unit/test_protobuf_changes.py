"""How Protobuf schemas change: what a reader takes from another writer, and which changes it grows by."""

from __future__ import annotations

import pytest
from tests.unit.protobuf_kit import BARE, decode, one_of, schema

from penstock.errors import SchemaRefused
from penstock.formats.types import to_ddl
from penstock.schemas.contract import Change, Schema
from penstock.testing.protobuf_shapes import RICH


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
