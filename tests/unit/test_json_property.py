"""Whatever the bytes and the schema: both tiers agree, nothing raises, every record is accounted for."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.formats.json.columns import JsonDecoder
from penstock.formats.json.readers import Good, Scanner
from penstock.formats.schemas import Field, Type, parse_ddl, to_ddl

MAX_BYTES = 3000
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
few = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


def types() -> st.SearchStrategy[Type]:
    decimals = st.tuples(st.integers(1, 38), st.integers(0, 38)).map(lambda p: Type("DECIMAL", p[0], min(p)))
    return st.recursive(
        st.sampled_from(SCALARS.split()).map(Type) | decimals,
        lambda inner: st.one_of(
            inner.map(lambda kind: Type("ARRAY", element=kind)),
            inner.map(lambda kind: Type("MAP", element=kind)),
            fields(inner).map(lambda found: Type("STRUCT", fields=found)),
        ),
        max_leaves=6,
    )


def fields(kinds: st.SearchStrategy[Type]) -> st.SearchStrategy[tuple[Field, ...]]:
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


def full(value: Any) -> Any:
    """A value as pyarrow gives it back; floats by their text, so that -0.0 is not 0.0."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {name: full(inner) for name, inner in value.items()}
    return [full(inner) for inner in value] if isinstance(value, list | tuple) else value


def agree(declared: tuple[Field, ...], batch: Sequence[bytes | None], policy: str, kind: pa.DataType) -> None:
    decoder = JsonDecoder(declared, unknown_fields=policy, max_bytes=MAX_BYTES)
    scanner = Scanner(declared, policy)
    padded = pa.array([b"junk", *batch, None], kind).slice(1, len(batch))
    for _ in range(2):
        decoded = decoder.decode(padded)
        decoded.data.validate(full=True)
        assert decoded.data.num_rows == len(batch)
        verdicts = {verdict.row: verdict for verdict in decoded.verdicts}
        assert len(verdicts) == len(decoded.verdicts)
        unknown: dict[str, int] = {}
        for row, (data, got) in enumerate(zip(batch, decoded.data.to_pylist(), strict=True)):
            if data is None or len(data) > MAX_BYTES:
                assert verdicts[row].code == ("tombstone" if data is None else "too_large")
                continue
            found = scanner.scan(data)
            if isinstance(found, Good):
                assert row not in verdicts, (data, verdicts[row])
                want = {**found.value, **({"_unknown": found.kept} if policy == "keep" else {})}
                assert full(got) == full(want), data
                for name in found.unknown:
                    unknown[name] = unknown.get(name, 0) + 1
            else:
                assert row in verdicts, (data, found.code, got)
                assert verdicts[row][1:4] == (found.code, found.field, found.detail), data
                assert set(got.values()) == {None}
        assert decoded.unknown == unknown


policies = st.sampled_from(["ignore", "ignore", "keep", "reject"])
kinds = st.sampled_from([pa.binary(), pa.large_binary()])


@few
@given(st.lists(mutated(record(ORDER)) | st.none(), min_size=1, max_size=12), policies, kinds)
def test_both_tiers_agree_on_mutated_records_of_a_rich_schema(
    batch: list[bytes | None], policy: str, kind: pa.DataType
) -> None:
    agree(ORDER, batch, policy, kind)


@few
@given(st.data(), fields(types()), policies)
def test_both_tiers_agree_on_random_schemas(data: st.DataObject, declared: tuple[Field, ...], policy: str) -> None:
    batch = data.draw(st.lists(mutated(record(declared)), min_size=1, max_size=6))
    agree(declared, list(batch), policy, pa.binary())


@few
@given(st.lists(st.lists(values | st.sampled_from([b"{", b"}", b":", b",", b'"n"', b'"i"']), max_size=9), max_size=6))
def test_both_tiers_agree_on_heaps_of_tokens(batch: list[list[bytes]]) -> None:
    agree(
        ORDER,
        [b"".join(tokens) for tokens in batch] + [b"{" + b"".join(tokens) + b"}" for tokens in batch],
        "ignore",
        pa.binary(),
    )


@few
@given(st.lists(st.binary(max_size=40), max_size=10))
def test_both_tiers_agree_on_any_bytes(batch: list[bytes]) -> None:
    agree(ORDER, list(batch), "ignore", pa.binary())


@few
@given(st.binary(max_size=12), st.sampled_from(TOKENS))
def test_both_tiers_agree_on_any_bytes_inside_a_record(junk: bytes, token: str) -> None:
    inside = [
        b'{"n":"' + junk + b'"}',
        b'{"n":"n","u":' + junk + b"}",
        b'{"n":"n",' + junk + b'"i":' + token.encode() + b"}",
    ]
    agree(ORDER, [*inside, b'{"n":"n"}'], "ignore", pa.binary())


@few
@given(fields(types()))
def test_a_schema_reads_back_from_its_own_text(declared: tuple[Field, ...]) -> None:
    assert parse_ddl(to_ddl(declared)) == declared


PIECES = "a INT STRUCT < > , : ( ) `x` NOT NULL ARRAY MAP 't' DECIMAL 3 COMMENT é -"


@few
@given(st.lists(st.sampled_from([*PIECES.split(), "--", "\n"]), max_size=14))
def test_any_schema_text_is_read_or_refused_with_places_inside_it(words: list[str]) -> None:
    text = " ".join(words)
    try:
        assert parse_ddl(text)
    except ValueError as error:
        lines = text.split("\n")
        for line, column, message, _ in error.problems:  # type: ignore[attr-defined]
            assert 1 <= line <= len(lines)
            assert 1 <= column <= len(lines[line - 1]) + 1
            assert message.endswith(".")
