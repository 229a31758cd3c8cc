"""Schemas, and JSON records of them that mostly fit, as hypothesis draws them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
from hypothesis import strategies as st

from penstock.formats.schemas import Field, Type, parse_ddl

Structs: TypeAlias = st.SearchStrategy[tuple[Field, ...]]
ORDER = parse_ddl(
    "i BIGINT, t TINYINT, s STRING, d DECIMAL(6,2), e DECIMAL(38,10), f FLOAT, x DOUBLE, ts TIMESTAMP, dt DATE, "
    "b BINARY, o BOOLEAN, st STRUCT<a: INT NOT NULL, b: STRING, dd: DATE>, l ARRAY<INT>, "
    "ls ARRAY<STRUCT<k: STRING NOT NULL, v: DOUBLE, z: ARRAY<BINARY>>>, n STRING NOT NULL"
)
SCALARS = "BOOLEAN TINYINT INT BIGINT FLOAT DOUBLE STRING BINARY DATE TIMESTAMP"
WORDS = r"""
1 0 -1 127 128 -129 1.0 1e3 12.300 12.345 9999.99 10000 1e4 1e28 99e36 1e400 1e-400 1e308 1.8e308 3.5e38 16777217 0e5
-0 -0.0 01 1. .5 - +1 NaN Infinity -Infinity Inf null true false True nul [] {} [1,2] [1,] [null] [{}] /**/1 {'a':1}
1e-1000000000 0e-1000000000 1e-39 9223372036854775807 9223372036854775808 "" "a" "1" "1." ".5" "+1" "1e2"
"1e-1000000000" "1\u0065-1000000000" "aGk=" "aGk" "2024-01-02" "2024-01-02T03:04:05Z" "2024-01-02T03-0130"
"0000-01-01" "0001-01-01T00:00:00+01" "2023-02-29" "2024-01-02T03:04:05.1234567" "\ud83d\ude00" "\ud800" "\u0000" "\x"
{"a":1} {"a":null} {"a":1,"a":2} {"a":1,"q":NaN} [{"k":"a","v":1e400}] [{"k":"a","u":1},{"k":"b","u":2}] [{"v":1}]
"""
TOKENS = [*WORDS.split(), '"a\nb"', '"\0"', "[" * 600 + "]" * 600, "9" * 400]
values = st.sampled_from(TOKENS).map(str.encode) | st.binary(max_size=3)
policies = st.sampled_from(["ignore", "ignore", "keep", "reject"])
kinds = st.sampled_from([pa.binary(), pa.large_binary()])


def types() -> st.SearchStrategy[Type]:
    return types_of(SCALARS.split(), fields)


def types_of(scalars: Sequence[str], structs: Callable[[st.SearchStrategy[Type]], Structs]) -> st.SearchStrategy[Type]:
    """Any type of these scalars, decimals, and what can be made of them; `structs` draws the fields of a struct."""
    decimals = st.tuples(st.integers(1, 38), st.integers(0, 38)).map(lambda p: Type("DECIMAL", p[0], min(p)))
    return st.recursive(
        st.sampled_from(scalars).map(Type) | decimals,
        lambda inner: st.one_of(
            inner.map(lambda kind: Type("ARRAY", element=kind)),
            inner.map(lambda kind: Type("MAP", element=kind)),
            structs(inner).map(lambda found: Type("STRUCT", fields=found)),
        ),
        max_leaves=6,
    )


def fields(kinds: st.SearchStrategy[Type]) -> Structs:
    names = st.sampled_from(["a", "b", "c d", "é", "x/y", "n"])
    one = st.builds(Field, names, kinds, nullable=st.sampled_from([True, True, False]))
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda field: field.name).map(tuple)


def text_for(kind: Type) -> st.SearchStrategy[bytes]:
    """Mostly what fits the type; sometimes anything."""
    match kind.name:
        case "ARRAY" if kind.element:
            good = st.lists(text_for(kind.element), max_size=3).map(lambda found: b"[" + b",".join(found) + b"]")
        case "MAP" if kind.element:
            pairs = st.tuples(st.sampled_from([b'"k"', b'"l"']), text_for(kind.element))
            good = st.lists(pairs, max_size=2).map(_object)
        case "STRUCT":
            good = record(kind.fields)
        case _:
            good = st.sampled_from(GOOD.get(kind.name, [b"1"]))
    return st.integers(0, 19).flatmap(lambda dice: values if dice == 0 else st.just(b"null") if dice == 1 else good)


GOOD = {
    "BOOLEAN": [b"true"], "STRING": [b'"a"', b'"\xc3\xa9\\n"', b'"\\u00e9"'], "BINARY": [b'"aGk="', b'""'],
    "DATE": [b'"2024-01-02"'], "TIMESTAMP": [b'"2024-01-02T03:04:05.5Z"', b'"2024-01-02"'], "INT": [b"1", b"-5"],
    "DOUBLE": [b"1.5", b"2e-7"], "FLOAT": [b"0.1", b"16777217"], "DECIMAL": [b"1", b'"0.5"', b"0"],
}  # fmt: skip


def _object(pairs: list[tuple[bytes, bytes]]) -> bytes:
    return b"{" + b",".join(name + b":" + value for name, value in pairs) + b"}"


def record(declared: tuple[Field, ...]) -> st.SearchStrategy[bytes]:
    members = [
        st.tuples(st.just(json.dumps(field.name, ensure_ascii=len(field.name) > 2).encode()), text_for(field.type))
        for field in declared
    ]
    extra = st.tuples(st.sampled_from([b'"u"', b'"w"', b'"\\u0075"', b'"i"', b'"a/b"']), values)
    rest: st.SearchStrategy[list[tuple[bytes, bytes]]] = st.lists(extra, max_size=1)
    return st.tuples(st.tuples(*members), rest).map(lambda found: _object([*found[0], *found[1]]))


@st.composite
def mutated(draw: st.DrawFn, documents: st.SearchStrategy[bytes]) -> bytes:
    """A document, sometimes with a few bytes changed, cut, or put in."""
    data = bytearray(draw(documents))
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.integers(0, 3))
        data[at : at + cut] = draw(
            st.sampled_from([b"", b'"', b"{", b"}", b",", b"\\", b"\n", b"\0", b"\xff", b"1", b" "])
        )
    return bytes(data)
