"""Whatever the bytes and the schema: the native decoder and the one in Python give the same.

`make fuzz` goes on from here, as long as you like; `native/fuzz/compare.py` is the same comparison.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native.fuzz.compare import BATCH, difference, one_round
from tests.unit.json_decoders import need_native
from tests.unit.json_strategies import ORDER, TOKENS, fields, kinds, mutated, policies, record, types, values

from penstock.formats.json.columns import JsonDecoder
from penstock.formats.json.native import NativeJsonDecoder
from penstock.formats.schemas import Field

some = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True, scope="module")
def _native() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PENSTOCK_NATIVE", raising=False)
        need_native()
        yield


def agree(declared: tuple[Field, ...], batch: list[bytes | None], policy: str, kind: pa.DataType) -> None:
    decoders = [made(declared, unknown_fields=policy, max_bytes=3000) for made in (NativeJsonDecoder, JsonDecoder)]
    padded = pa.array([b"junk", *batch, None], kind).slice(1, len(batch))
    ours, theirs = (decoder.decode(padded) for decoder in decoders)
    assert difference(declared, ours, theirs) is None


@some
@given(st.lists(mutated(record(ORDER)) | st.none(), min_size=1, max_size=12), policies, kinds)
def test_mutated_records_of_a_rich_schema(batch: list[bytes | None], policy: str, kind: pa.DataType) -> None:
    agree(ORDER, batch, policy, kind)


@some
@given(st.data(), fields(types()), policies)
def test_random_schemas(data: st.DataObject, declared: tuple[Field, ...], policy: str) -> None:
    batch = data.draw(st.lists(mutated(record(declared)), min_size=1, max_size=6))
    agree(declared, list(batch), policy, pa.binary())


@some
@given(st.lists(st.lists(values | st.sampled_from([b"{", b"}", b":", b",", b'"n"', b'"i"']), max_size=9), max_size=6))
def test_heaps_of_tokens(batch: list[list[bytes]]) -> None:
    heaps = [b"".join(tokens) for tokens in batch]
    agree(ORDER, [*heaps, *(b"{" + heap + b"}" for heap in heaps)], "ignore", pa.binary())


@some
@given(st.binary(max_size=12), st.sampled_from(TOKENS))
def test_any_bytes_inside_a_record(junk: bytes, token: str) -> None:
    inside = [b'{"n":"' + junk + b'"}', b'{"n":"n","u":' + junk + b"}", b'{"n":"n",' + junk + b'"i":' + token.encode()]
    agree(ORDER, [*inside, junk, b'{"n":"n"}'], "keep", pa.binary())


def rounds(first: int, count: int) -> list[str]:
    return [found for seed in range(first, first + count) if (found := one_round(seed)[2])]


def test_thousands_of_mutated_records_of_random_schemas() -> None:
    assert rounds(first=10_000, count=8000 // BATCH) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_million_mutated_records_of_random_schemas() -> None:
    assert rounds(first=20_000, count=1_000_000 // BATCH) == []
