"""Whatever the bytes and the schema: both tiers agree, nothing raises, every record is accounted for."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.json_strategies import ORDER, TOKENS, fields, kinds, mutated, policies, record, types, values

from penstock.formats.json.columns import JsonDecoder
from penstock.formats.json.readers import Good, Scanner
from penstock.formats.schemas import Field, parse_ddl, to_ddl

MAX_BYTES = 3000
few = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


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
