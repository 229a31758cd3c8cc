"""Whatever the bytes, the Protobuf decoder says what Google's runtime says: the same verdict, the same values."""

from __future__ import annotations

import math
import random
import re
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.formats.contract import Decoded
from penstock.formats.protobuf.codec import ProtobufCodec
from penstock.formats.protobuf.columns import ProtobufDecoder
from penstock.schemas.contract import Schema
from penstock.testing.protobuf_shapes import OLD, RICH, NoRow, fill, mutated, random_schema, row_of

RICH_SCHEMA, OLD_SCHEMA = Schema(1, "protobuf", RICH), Schema(2, "protobuf", OLD)
MAPS = r"(map<[^>]*>|(repeated )?google\.protobuf\.(Struct|Value|ListValue)) \w+ = \d+;"
WITHOUT_MAPS = Schema(3, "protobuf", re.sub(MAPS, "", RICH))
"""Nothing of it must be looked through: no map, no closed enum."""
QUICK = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def decoder_of(schema: Schema, **how: Any) -> ProtobufDecoder:
    codec = ProtobufCodec(framed=False, **how)
    made = codec.payloads(schema, codec.fields(schema), schema)
    assert isinstance(made, ProtobufDecoder)
    return made


@pytest.fixture(scope="module")
def decoders() -> dict[str, ProtobufDecoder]:
    blind = decoder_of(WITHOUT_MAPS)
    assert not blind._must_look
    blind.looks = lambda: False  # type: ignore[method-assign]  # nothing unknown is left out beforehand
    return {"rich": decoder_of(RICH_SCHEMA), "old": decoder_of(OLD_SCHEMA), "blind": blind}


def oracle(decoder: ProtobufDecoder, body: bytes) -> dict[str, Any] | None:
    """The row by Google's runtime, None if these bytes are no row."""
    try:
        message = decoder.one.FromString(body)
        if not message.IsInitialized():
            return None
        return row_of(message)
    except (DecodeError, NoRow, UnicodeDecodeError):
        return None


def same(decoded: Decoded, decoder: ProtobufDecoder, bodies: list[bytes]) -> None:
    out = {verdict.row for verdict in decoded.verdicts}
    assert len(out) == len(decoded.verdicts)
    rows = decoded.data.to_pylist()
    assert len(rows) == len(bodies)
    for number, body in enumerate(bodies):
        expected = oracle(decoder, body)
        assert (number in out) == (expected is None), (body.hex(), decoded.verdicts)
        if expected is None:
            assert set(rows[number].values()) == {None}
        else:
            assert plain(rows[number]) == plain(expected), body.hex()
    decoded.data.validate(full=True)


def plain(value: Any) -> Any:
    """Comparable: NaN is itself, a map's entries are in order, bytes of texts as they are."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list):
        if value and isinstance(value[0], tuple):
            return {key: plain(each) for key, each in value}
        return [plain(each) for each in value]
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


@QUICK
@given(seed=st.integers(0, 2**32), which=st.sampled_from(["rich", "old", "blind"]))
def test_sound_messages_have_the_values_that_google_reads(
    decoders: dict[str, ProtobufDecoder], seed: int, which: str
) -> None:
    decoder, rand = decoders[which], random.Random(seed)
    bodies = [fill(decoder.one(), rand, rand.random()).SerializePartialToString() for _ in range(8)]
    same(decoder.decode(pa.array(bodies, pa.binary())), decoder, bodies)


@QUICK
@given(seed=st.integers(0, 2**32), which=st.sampled_from(["rich", "old", "blind"]))
def test_mutated_messages_have_the_verdict_of_google(
    decoders: dict[str, ProtobufDecoder], seed: int, which: str
) -> None:
    decoder, rand = decoders[which], random.Random(seed)
    good = [fill(decoder.one(), rand, 0.3).SerializePartialToString() for _ in range(24)]
    bodies = [mutated(body, rand) if rand.random() < 0.7 else body for body in good]
    bodies += [a + b for a, b in pairwise(good)]
    same(decoder.decode(pa.array(bodies, pa.binary())), decoder, bodies)


def test_an_entry_of_a_map_that_holds_more_than_key_and_value_is_set_aside_in_every_step() -> None:
    decoder = decoder_of(RICH_SCHEMA)
    strange = bytes.fromhex("fa01057201ff0a00")  # counts: {"": ...} with a field 14 in the entry
    for body in (b"", strange, strange):  # the first step is looked through anyhow
        same(decoder.decode(pa.array([body], pa.binary())), decoder, [body])


@settings(QUICK, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_generated_schemas_are_read_as_google_reads_them(seed: int) -> None:
    rand = random.Random(seed)
    decoder = decoder_of(Schema(seed, "protobuf", random_schema(rand)))
    good = [fill(decoder.one(), rand, 0.7).SerializePartialToString() for _ in range(10)]
    bodies = [*good, *(mutated(body, rand) for body in good)]
    same(decoder.decode(pa.array(bodies, pa.binary())), decoder, bodies)


@settings(QUICK, max_examples=60)
@given(bodies=st.lists(st.binary(max_size=60), max_size=30))
def test_random_bytes_have_the_verdict_of_google(decoders: dict[str, ProtobufDecoder], bodies: list[bytes]) -> None:
    decoder = decoders["rich"]
    same(decoder.decode(pa.array(bodies, pa.binary())), decoder, bodies)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_million_payloads_conserve_their_rows_and_crash_nothing(decoders: dict[str, ProtobufDecoder]) -> None:
    rand = random.Random(20261115)
    for which in ("rich", "old"):
        decoder = decoders[which]
        seeds = [fill(decoder.one(), rand, 0.4).SerializePartialToString() for _ in range(200)]
        for _ in range(50):
            bodies = [
                mutated(rand.choice(seeds), rand) if rand.random() < 0.3 else rand.choice(seeds) for _ in range(10_000)
            ]
            decoded = decoder.decode(pa.array(bodies, pa.binary()))
            out = [verdict.row for verdict in decoded.verdicts]
            assert len(set(out)) == len(out)
            assert decoded.data.num_rows == len(bodies)
            for number in rand.sample(range(len(bodies)), 200):
                assert (number in set(out)) == (oracle(decoder, bodies[number]) is None)
