"""What is read straight from the bytes is what Google's runtime reads; what is not usual is left to it."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.formats.protobuf.codec import ProtobufCodec
from penstock.formats.protobuf.columns import ProtobufDecoder
from penstock.formats.protobuf.indexes import varint
from penstock.formats.protobuf.usual import FEW, REST
from penstock.schemas.contract import Schema
from penstock.testing.protobuf_shapes import SINGLE, NoRow, fill, mutated, random_schema, row_of

TIMES = """
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
"""
NEW = f"""
syntax = "proto3";
package usual;
{TIMES}
enum Colour {{ NONE = 0; RED = 1; DEEP = -5; }}
message Row {{
  message Part {{ string sku = 1; optional int32 qty = 2; Note note = 20; message Note {{ string text = 1; }} }}
  double d = 1; float f = 2; int32 i32 = 3; int64 i64 = 4; uint32 u32 = 5; uint64 u64 = 6; sint32 s32 = 7;
  sint64 s64 = 8; fixed32 x32 = 9; fixed64 x64 = 10; sfixed32 sx32 = 11; sfixed64 sx64 = 12; bool b = 13;
  string text = 14; bytes raw = 15; Colour colour = 16; Part part = 27;
  optional int64 maybe = 17; optional string maybe_text = 18; optional Colour maybe_colour = 19; optional bool yes = 21;
  oneof choice {{ int32 number = 36; string word = 37; Part piece = 38; google.protobuf.Timestamp when = 39; }}
  google.protobuf.Timestamp at = 40; google.protobuf.Duration took = 42; google.protobuf.Int32Value w_i32 = 43;
  google.protobuf.UInt64Value w_u64 = 44; google.protobuf.StringValue w_text = 45; bytes last = 20000;
}}
"""
OLD = """
syntax = "proto2";
package usual.old;
message Row {
  enum Kind { FIRST = 0; SECOND = 2; }
  message Line { optional string sku = 1; optional int32 qty = 2 [default = 7]; }
  optional int64 id = 1; optional string name = 2 [default = "nobody"]; optional Kind kind = 3 [default = SECOND];
  optional Line line = 7; optional double x = 10;
  oneof choice { int32 number = 11; Line piece = 12; }
}
"""
SCHEMAS = {"new": Schema(1, "protobuf", NEW), "old": Schema(2, "protobuf", OLD)}
QUICK = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def decoder_of(schema: Schema, **how: Any) -> ProtobufDecoder:
    codec = ProtobufCodec(framed=False, **how)
    made = codec.payloads(schema, codec.fields(schema), schema)
    assert isinstance(made, ProtobufDecoder)
    assert made.usual is not None
    made.usual.pays = lambda count: count > 0  # type: ignore[method-assign]  # however few, and however odd
    return made


@pytest.fixture(scope="module")
def decoders() -> dict[str, ProtobufDecoder]:
    return {name: decoder_of(schema) for name, schema in SCHEMAS.items()}


def oracle(decoder: ProtobufDecoder, body: bytes) -> dict[str, Any] | None:
    try:
        return row_of(decoder.one.FromString(body))
    except (DecodeError, NoRow, UnicodeDecodeError):
        return None


def same(decoder: ProtobufDecoder, bodies: list[bytes]) -> None:
    decoded = decoder.decode(pa.array(bodies, pa.binary()))
    decoded.data.validate(full=True)
    out = [verdict.row for verdict in decoded.verdicts]
    assert out == sorted(set(out))
    for number, (row, body) in enumerate(zip(decoded.data.to_pylist(), bodies, strict=True)):
        expected = oracle(decoder, body)
        assert (number in out) == (expected is None), body.hex()
        assert plain(row) == plain(expected or dict.fromkeys(row)), body.hex()


def plain(value: Any) -> Any:
    """Comparable: NaN is itself, and -0.0 is not 0.0."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return repr(value) if isinstance(value, float) else value


def odd(decoder: ProtobufDecoder, *bodies: bytes) -> list[bool]:
    """Which of these messages are not usual."""
    from penstock.formats.framed_columns import buffers_of

    assert decoder.usual is not None
    return list(decoder.usual.read(*buffers_of(pa.array(bodies, pa.binary())))[1])


@QUICK
@given(seed=st.integers(0, 2**32), which=st.sampled_from(sorted(SCHEMAS)))
def test_what_google_writes_is_usual_and_is_read_as_google_reads_it(
    decoders: dict[str, ProtobufDecoder], seed: int, which: str
) -> None:
    decoder, rand = decoders[which], random.Random(seed)
    bodies = [fill(decoder.one(), rand, rand.random()).SerializePartialToString() for _ in range(20)]
    assert not any(odd(decoder, *bodies))
    same(decoder, bodies)


@QUICK
@given(seed=st.integers(0, 2**32), which=st.sampled_from(sorted(SCHEMAS)))
def test_whatever_was_done_to_it_a_message_has_the_verdict_and_the_values_of_google(
    decoders: dict[str, ProtobufDecoder], seed: int, which: str
) -> None:
    decoder, rand = decoders[which], random.Random(seed)
    good = [fill(decoder.one(), rand, 0.3).SerializePartialToString() for _ in range(24)]
    same(decoder, [*good, *(mutated(body, rand) for body in good), *(a + b for a, b in pairwise(good))])


@settings(QUICK, max_examples=150)
@given(seed=st.integers(0, 2**32))
def test_generated_schemas_are_read_as_google_reads_them(seed: int) -> None:
    rand = random.Random(seed)
    decoder = decoder_of(Schema(seed, "protobuf", random_schema(rand, labels=SINGLE)))
    good = [fill(decoder.one(), rand, 0.7).SerializePartialToString() for _ in range(10)]
    same(decoder, [*good, *(mutated(body, rand) for body in good)])


@QUICK
@given(bodies=st.lists(st.binary(max_size=60), max_size=30), which=st.sampled_from(sorted(SCHEMAS)))
def test_random_bytes_have_the_verdict_of_google(
    decoders: dict[str, ProtobufDecoder], bodies: list[bytes], which: str
) -> None:
    same(decoders[which], bodies)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("200108ff01", id="fields that do not ascend"),
        pytest.param("18011802", id="a field twice"),
        pytest.param("a002018002a001", id="an unknown field, and a tag in more bytes than it needs"),
        pytest.param("a00205aa020161", id="two of a oneof"),
        pytest.param("1880808080808001", id="an int32 that is too large"),
        pytest.param("6802", id="a bool that is neither"),
        pytest.param("7201ff", id="text that is not UTF-8"),
        pytest.param("1a0161", id="another wire type"),
        pytest.param("20ffffffffffffffffff7f", id="a number of more than 64 bits"),
        pytest.param("720561", id="cut"),
        pytest.param("c20205", id="a message that is cut"),
    ],
)
def test_what_is_not_usual_is_left_to_google(decoders: dict[str, ProtobufDecoder], body: str) -> None:
    decoder, good = decoders["new"], decoders["new"].one(i32=3, text="ü").SerializeToString()
    assert odd(decoder, good, bytes.fromhex(body), good) == [False, True, False]
    same(decoder, [good, bytes.fromhex(body), good])


def test_a_number_that_a_closed_enum_does_not_name_is_left_to_google(decoders: dict[str, ProtobufDecoder]) -> None:
    bodies = [b"\x18\x00", b"\x18\x02", b"\x18\x01"]
    assert odd(decoders["old"], *bodies) == [False, False, True]
    same(decoders["old"], bodies)


def test_every_unknown_field_is_counted() -> None:
    decoder = decoder_of(SCHEMAS["old"])
    known, unknown = b"\x08\x01", b"\x08\x01" + varint(90 << 3) + b"\x05"
    for count in (1, 3):
        decoded = decoder.decode(pa.array([known, *[unknown] * count, known], pa.binary()))
        assert decoded.unknown == {"90": count}
        assert decoded.data["id"].to_pylist() == [1] * (count + 2)


def test_unknown_fields_are_rejected_where_that_is_asked_for() -> None:
    decoder = decoder_of(SCHEMAS["old"], unknown_fields="reject")
    decoded = decoder.decode(pa.array([b"\x08\x01", b"\x08\x01" + varint(90 << 3) + b"\x05"], pa.binary()))
    assert [(each.row, each.code, each.field) for each in decoded.verdicts] == [(1, "unknown_field", "/90")]
    assert decoded.data["id"].to_pylist() == [1, None]


def test_where_most_messages_are_odd_the_quick_way_rests() -> None:
    codec = ProtobufCodec(framed=False)
    decoder = codec.payloads(SCHEMAS["old"], codec.fields(SCHEMAS["old"]), SCHEMAS["old"])
    assert isinstance(decoder, ProtobufDecoder)
    assert decoder.usual is not None
    twice, tried = pa.array([b"\x08\x01\x08\x02"] * FEW, pa.binary()), []
    read = decoder.usual.read
    decoder.usual.read = lambda *given: (tried.append(1), read(*given))[1]  # type: ignore[method-assign,func-returns-value]
    for _ in range(2 * REST):
        assert decoder.decode(twice).data["id"].to_pylist() == [2] * FEW
    assert len(tried) == 2


def test_indexes_that_payloads_do_not_begin_with_are_left_to_the_other_way() -> None:
    codec = ProtobufCodec()
    decoder = codec.payloads(SCHEMAS["old"], codec.fields(SCHEMAS["old"]), SCHEMAS["old"])
    usual, spelled, other = b"\x00\x08\x05", b"\x02\x00\x08\x06", b"\x02\x02\x08\x07"
    decoded = decoder.decode(pa.array([usual] * FEW + [spelled, other, b""], pa.binary()))
    assert decoded.data["id"].to_pylist() == [5] * FEW + [6, None, None]
    assert [verdict.row - FEW for verdict in decoded.verdicts] == [1, 2]


@pytest.mark.parametrize("field", ["repeated int32 a = 2;", "map<string, int32> a = 2;", "Empty a = 2;"])
def test_messages_that_hold_lists_maps_or_nothing_are_read_by_google(field: str) -> None:
    text = f'syntax = "proto3"; message Row {{ int32 id = 1; {field} }} message Empty {{}}'
    codec, schema = ProtobufCodec(framed=False), Schema(9, "protobuf", text)
    decoder = codec.payloads(schema, codec.fields(schema), schema)
    assert isinstance(decoder, ProtobufDecoder)
    assert decoder.usual is None
    assert decoder.decode(pa.array([b"\x08\x01"] * FEW, pa.binary())).data["id"].to_pylist() == [1] * FEW
