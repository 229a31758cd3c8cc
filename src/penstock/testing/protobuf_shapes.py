"""Protobuf schemas of every shape, messages of them by the thousand, and what Google's runtime says they hold."""

from __future__ import annotations

import base64
import datetime
import random
import struct
from decimal import Decimal
from typing import Any

from penstock.formats.protobuf.types import DURATION, ENUM, JSON_TEXT, MESSAGE, TIMESTAMP, UNSIGNED_64, WRAPPERS, is_map

RICH = """
syntax = "proto3";
package shapes;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/wrappers.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";
import "google/protobuf/empty.proto";
enum Colour { option allow_alias = true; NONE = 0; RED = 1; ROUGE = 1; DEEP = -5; }
message Rich {
  message Part { string sku = 1; optional int32 qty = 2; repeated Note notes = 3; message Note { string text = 1; } }
  message Nothing {}
  double d = 1; float f = 2; int32 i32 = 3; int64 i64 = 4; uint32 u32 = 5; uint64 u64 = 6; sint32 s32 = 7;
  sint64 s64 = 8; fixed32 x32 = 9; fixed64 x64 = 10; sfixed32 sx32 = 11; sfixed64 sx64 = 12; bool b = 13;
  string text = 14; bytes raw = 15; Colour colour = 16;
  optional int64 maybe = 17; optional string maybe_text = 18; optional Colour maybe_colour = 19;
  repeated int32 numbers = 20; repeated sint64 loose = 21 [packed = false]; repeated string texts = 22;
  repeated Colour colours = 23; repeated double doubles = 24; repeated fixed64 large = 25; repeated bytes raws = 26;
  Part part = 27; repeated Part parts = 28; Nothing nothing = 29; repeated Nothing nothings = 30;
  map<string, int32> counts = 31; map<int64, Part> by_id = 32; map<bool, string> by_truth = 33;
  map<uint64, Colour> by_large = 34; map<string, google.protobuf.Timestamp> times_by = 35;
  oneof choice { int32 number = 36; string word = 37; Part piece = 38; google.protobuf.Timestamp when = 39; }
  google.protobuf.Timestamp at = 40; repeated google.protobuf.Timestamp ats = 41;
  google.protobuf.Duration took = 42;
  google.protobuf.Int32Value w_i32 = 43; google.protobuf.UInt64Value w_u64 = 44;
  google.protobuf.StringValue w_text = 45;
  google.protobuf.BytesValue w_raw = 46; google.protobuf.BoolValue w_bool = 47; google.protobuf.DoubleValue w_d = 48;
  repeated google.protobuf.StringValue w_texts = 49;
  google.protobuf.Struct free = 50; google.protobuf.Value any_value = 51; google.protobuf.Any any = 52;
  google.protobuf.Empty empty = 53;
  reserved 90 to 99;
}
message Other { int32 id = 1; message Inner { string name = 1; } }
"""
OLD = """
syntax = "proto2";
package shapes.old;
message Old {
  enum Kind { FIRST = 0; SECOND = 2; }
  message Line { required string sku = 1; optional int32 qty = 2 [default = 7]; }
  required int64 id = 1; optional string name = 2 [default = "nobody"]; optional Kind kind = 3 [default = SECOND];
  repeated int32 numbers = 4; repeated int32 packed_numbers = 5 [packed = true]; repeated Line lines = 6;
  optional Line line = 7; map<string, Kind> kinds = 8; repeated Kind all = 9; optional double x = 10;
  oneof choice { int32 number = 11; Line piece = 12; }
}
"""
BYTES = 12
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
TEXTS = ("", "a", "ü€𝄞", "line\nbreak", "x" * 130, "\x00")


class NoRow(Exception):
    """This message is well formed, and yet no row."""


def row_of(message: Any) -> dict[str, Any]:
    """What the columns of this message must hold, by Google's runtime. Raises NoRow where they cannot."""
    return {field.name: _column(message, field) for field in message.DESCRIPTOR.fields}


def _column(message: Any, field: Any) -> Any:
    value = getattr(message, field.name)
    if is_map(field):
        inner = field.message_type.fields_by_name["value"]
        pairs = [(_key(key), _one(each, inner)) for key, each in value.items()]
        return sorted(pairs, key=lambda pair: pair[0])
    if field.is_repeated:
        return [_one(each, field) for each in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _one(value, field)


def _key(key: Any) -> str:
    if isinstance(key, bytes):  # what proto2 lets through as text
        raise NoRow
    return str(key).lower() if isinstance(key, bool) else str(key)


def _one(value: Any, field: Any) -> Any:  # noqa: PLR0911
    if field.type in UNSIGNED_64:
        return Decimal(value)
    if field.type == ENUM:
        return next((each.name for each in field.enum_type.values if each.number == value), str(value))
    if field.type != MESSAGE:
        if isinstance(value, bytes) and field.type != BYTES:
            raise NoRow
        return value
    name = field.message_type.full_name
    if name == TIMESTAMP:
        if not -62_135_596_800 <= value.seconds <= 253_402_300_799 or not 0 <= value.nanos <= 999_999_999:
            raise NoRow
        return EPOCH + datetime.timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    if name == DURATION:
        return _micros(value.seconds, value.nanos)
    if name in JSON_TEXT:
        return _json(value)
    if name in WRAPPERS:
        return _one(value.value, field.message_type.fields_by_name["value"])
    return row_of(value) if field.message_type.fields else True


def _micros(seconds: int, nanos: int) -> int:
    if abs(seconds) > 315_576_000_000 or abs(nanos) > 999_999_999 or seconds * nanos < 0:
        raise NoRow
    return seconds * 1_000_000 + (nanos // 1000 if nanos >= 0 else -(-nanos // 1000))


def _json(value: Any) -> str:
    from google.protobuf.json_format import MessageToJson

    try:
        return str(MessageToJson(value, indent=None, sort_keys=True))
    except (ValueError, TypeError, RecursionError):
        raise NoRow from None


def fill(message: Any, rand: random.Random, share: float = 0.6, level: int = 0) -> Any:
    """The message, with random values in about this share of its fields."""
    for field in message.DESCRIPTOR.fields:
        if not field.is_required and rand.random() > share:
            continue
        target = getattr(message, field.name)
        if is_map(field):
            _fill_map(target, field, rand, level)
        elif field.is_repeated:
            for _ in range(rand.choice((0, 1, 2, 5))):
                if field.type == MESSAGE:
                    _fill_message(target.add(), rand, level)
                else:
                    target.append(scalar(field, rand))
        elif field.type == MESSAGE:
            target.SetInParent()
            _fill_message(target, rand, level)
        else:
            setattr(message, field.name, scalar(field, rand))
    return message


def _fill_map(target: Any, field: Any, rand: random.Random, level: int) -> None:
    key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
    for _ in range(rand.choice((0, 1, 3))):
        if value.type == MESSAGE:
            _fill_message(target[scalar(key, rand)], rand, level)
        else:
            target[scalar(key, rand)] = scalar(value, rand)


def _fill_message(message: Any, rand: random.Random, level: int) -> None:
    name = message.DESCRIPTOR.full_name
    if name == TIMESTAMP:
        message.seconds = rand.choice((0, -1, rand.randint(-62_135_596_800, 253_402_300_799), 253_402_300_799, 1 << 62))
        message.nanos = rand.choice((0, 999_999_999, rand.randrange(10**9), rand.randrange(10**9), -1))
    elif name == DURATION:
        sign = rand.choice((1, -1))
        message.seconds = sign * rand.choice((0, 1, rand.randrange(315_576_000_000), rand.randrange(1 << 62)))
        message.nanos = rand.choice((1, 1, 1, -1)) * sign * rand.randrange(10**9)
    elif name == "google.protobuf.Struct":
        message.update({rand.choice(TEXTS): rand.choice((None, 1.5, "x", [1, {"y": True}]))})
    elif name == "google.protobuf.Value":
        if rand.random() < 0.9:
            message.number_value = rand.choice((0.0, 2.5, float("nan")))
    elif level < 3:
        fill(message, rand, 0.7, level + 1)


def scalar(field: Any, rand: random.Random) -> Any:
    """A random value of this field, small ones and the ends of its range more often."""
    kind = field.type
    if kind in (1, 2):
        value = rand.choice((0.0, -0.0, 1.5, rand.uniform(-1e9, 1e9), float("inf"), 5e-324))
        return struct.unpack("<f", struct.pack("<f", value))[0] if kind == 2 else value
    if kind == 8:
        return rand.random() < 0.5
    if kind == 9:
        return rand.choice(TEXTS)
    if kind == 12:
        return rand.choice((b"", b"\x00\xff", rand.randbytes(rand.randrange(200))))
    if kind == ENUM:
        numbers = [each.number for each in field.enum_type.values]
        return rand.choice(numbers if field.enum_type.is_closed else [*numbers, 77, -9])
    unsigned, wide = kind in (4, 6, 7, 13), kind in (3, 4, 6, 16, 18)
    bits = 64 if wide else 32
    least, most = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return rand.choice((0, 1, least, most, rand.randint(least, most), rand.randint(0, 300)))


def mutated(data: bytes, rand: random.Random) -> bytes:
    """The same bytes with something done to them."""
    found = bytearray(data)
    for _ in range(rand.choice((1, 1, 2, 4))):
        at = rand.randrange(len(found) + 1)
        match rand.randrange(7):
            case 0:
                del found[at:]
            case 1:
                found[at : at + 1] = bytes([rand.randrange(256)])
            case 2:
                found[at:at] = rand.randbytes(rand.choice((1, 2, 9)))
            case 3:
                del found[at : at + rand.choice((1, 2, 7))]
            case 4:
                other = rand.randrange(len(found) + 1)
                found += found[min(at, other) : max(at, other)]
            case 5:
                found[at:at] = rand.choice(ODD)
            case 6:
                found += found[:at]
    return bytes(found)


ODD = (
    b"\xff\xff\xff\xff\x07", b"\xff" * 9 + b"\x01", b"\xff" * 10, b"\x0b\x0c", b"\x0b" * 120, b"\x0c", b"\x72\x01\xff",
    b"\x72\xff\xff\xff\xff\x07", b"\xf2\x06\x02hi", b"\xf0\x06\x05", b"\x80\x80\x80\x80\x00", b"\x00\x00",
    b"\x9a\x01\x00", b"\xa2\x01\x03\x01\x02\x80", b"\x72\xf6\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\xfb\x06\x08\x01\xfc\x06",
)  # fmt: skip
"""Lengths of 2 GB and more, numbers without end, groups, texts that are none, unknown fields."""


LABELS: dict[str, tuple[int, ...]] = {"proto3": (1, 1, 3), "proto2": (1, 1, 2, 3)}
SINGLE: dict[str, tuple[int, ...]] = {"proto3": (1,), "proto2": (1,)}


def random_schema(rand: random.Random, *, labels: dict[str, tuple[int, ...]] | None = None) -> str:
    """A schema of a random message, as the compiled form that stands for its text.

    `labels`: of fields, by the schema's syntax: 1 optional, 2 required, 3 repeated.
    """
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    file = FileDescriptorProto(name="random.proto", package="random", syntax=rand.choice(("proto2", "proto3")))
    chosen = (labels or LABELS)[file.syntax]
    made = [_random_message(file, f"M{number}", rand, chosen) for number in range(rand.randrange(3))]
    _random_message(file, "Row", rand, chosen, made)
    file.message_type.insert(0, file.message_type.pop())
    return base64.b64encode(FileDescriptorSet(file=[file]).SerializeToString()).decode()


def _random_message(
    file: Any, name: str, rand: random.Random, labels: tuple[int, ...], inner: list[str] | None = None
) -> str:
    message = file.message_type.add(name=name)
    kinds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17, 18, *([11, 11, 11] if inner else [])]
    for place, number in enumerate(rand.sample([*range(1, 40), 300, 20_000, (1 << 29) - 1], rand.randrange(1, 12))):
        kind = rand.choice(kinds)
        field = message.field.add(name=f"f{place}", number=number, type=kind, label=rand.choice(labels))
        if kind == 11:
            field.type_name = f".random.{rand.choice(inner or [])}"
        elif field.label == 1 and file.syntax == "proto3" and rand.random() < 0.3:
            field.proto3_optional = True
            field.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_f{place}")
    return name
