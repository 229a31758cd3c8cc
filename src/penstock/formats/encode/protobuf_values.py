"""How single values are written: numbers, texts, enums, times, and the well-known messages that hold one value."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.encode import pieces
from penstock.formats.encode.contract import Flaw
from penstock.formats.encode.pieces import Pieces, Write
from penstock.formats.protobuf.types import ENUM, MESSAGE

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

VARINT, EIGHT, LENGTH, FOUR = 0, 1, 2, 5
TEXT, BYTES, BOOL, DOUBLE, FLOAT = 9, 12, 8, 1, 2
ZIGZAG = (17, 18)
FIXED = {6: np.uint64, 16: np.int64, 7: np.uint32, 15: np.int32}
WIRES = {
    DOUBLE: EIGHT,
    FLOAT: FOUR,
    6: EIGHT,
    16: EIGHT,
    7: FOUR,
    15: FOUR,
    TEXT: LENGTH,
    BYTES: LENGTH,
    MESSAGE: LENGTH,
}
INT32, INT64 = (-(2**31), 2**31 - 1), (-(2**63), 2**63 - 1)
UINT32, UINT64 = (0, 2**32 - 1), (0, 2**64 - 1)
RANGES = {5: INT32, 15: INT32, 17: INT32, 3: INT64, 16: INT64, 18: INT64, 13: UINT32, 7: UINT32, 4: UINT64, 6: UINT64}


def of_scalar(field: FieldDescriptor, kind: pa.DataType) -> Write | None:
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if field.type == TEXT:
        return _texts(kind) if text or pa.types.is_date32(kind) or pa.types.is_decimal(kind) else None
    if field.type == ENUM:
        return _enum(field) if text else None
    if field.type == BYTES:
        return _sized if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else None
    if field.type == BOOL:
        return _bools if pa.types.is_boolean(kind) else None
    if field.type in (DOUBLE, FLOAT):
        fits = pa.types.is_floating(kind) and (field.type == DOUBLE or kind.bit_width <= 32)
        return _floats(np.float64 if field.type == DOUBLE else np.float32) if fits else None
    return _whole(field) if pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0) else None


def wrapped(message: Descriptor, kind: pa.DataType) -> Write | None:
    value = message.fields_by_name["value"]
    one, tag = of_scalar(value, kind), pieces.constant(tag_of(value))
    if one is None:
        return None
    inner = one

    def write(array: Any) -> Pieces:
        found, flaws = inner(array)
        return pieces.sized(pieces.joined(tag, found)), flaws

    return write


def _sized(array: Any) -> Pieces:
    return pieces.sized(array.cast(pa.binary())), []


def _bools(array: Any) -> Pieces:
    return pieces.fixed(pieces.numbers_of(array).astype(np.uint8)), []


def _floats(size: Any) -> Write:
    return lambda array: (pieces.fixed(pieces.numbers_of(array).astype(size)), [])


def _texts(kind: pa.DataType) -> Write:
    """Texts; dates as ISO 8601, decimals with all their digits."""

    def write(array: Any) -> Pieces:
        text = array.cast(pa.string())
        if pa.types.is_decimal(kind) and pc.any(pc.match_substring(text, "E")).as_py():
            text = pa.array([format(Decimal(each), "f") for each in text.to_pylist()], pa.string())
        return _sized(text)

    return write


def _whole(field: FieldDescriptor) -> Write:
    least, most = RANGES[field.type]

    def write(array: Any) -> Pieces:
        ends = pc.min_max(array).as_py()
        bad = np.zeros(len(array), np.bool_)
        if len(array) and (ends["min"] < least or ends["max"] > most):
            bad = np.array([not least <= number <= most for number in array.to_pylist()])
            array = pc.if_else(pa.array(bad), pa.scalar(0, pa.int8()).cast(array.type), array)
        why = f"It is no number of the schema's type: those are {least} to {most}."
        return _numbers(field.type, array, least), [Flaw(int(row), "", why) for row in np.flatnonzero(bad)]

    return write


def _numbers(kind: int, array: Any, least: int) -> pa.Array:
    numbers = pieces.numbers_of(array.cast(pa.int64() if least < 0 else pa.uint64()))
    if kind in FIXED:
        return pieces.fixed(numbers.astype(FIXED[kind]))
    if kind in ZIGZAG:
        return pieces.varints(pieces.zigzag(numbers))
    return pieces.varints(numbers.view(np.uint64))


def _enum(field: FieldDescriptor) -> Write:
    names = [value.name for value in field.enum_type.values]
    known = pa.array(names, pa.string())
    numbers = np.array([value.number for value in field.enum_type.values], np.int64)
    is_open = not field.enum_type.is_closed

    def write(array: Any) -> Pieces:
        text = array.cast(pa.string())
        places = pc.index_in(text, value_set=known)
        found = numbers[pieces.numbers_of(pc.fill_null(places, 0))]
        flaws = []
        for row in np.flatnonzero(pieces.numbers_of(places.is_null())):
            digits = text[int(row)].as_py()
            if is_open and digits.removeprefix("-").isdecimal() and INT32[0] <= int(digits) <= INT32[1]:
                found[row] = int(digits)
            else:
                flaws.append(Flaw(int(row), "", f"The enum {field.enum_type.full_name} has no such name."))
        return pieces.varints(found.view(np.uint64)), flaws

    return write


def instants(array: Any) -> Pieces:
    return _seconds(*np.divmod(pieces.micros(array), 1_000_000)), []


def spans(array: Any) -> Pieces:
    micros = pieces.numbers_of(array.cast(pa.int64()))
    seconds = np.where(micros < 0, -(-micros // 1_000_000), micros // 1_000_000)
    return _seconds(seconds, micros - seconds * 1_000_000), []


def _seconds(seconds: Any, micros: Any) -> pa.Array:
    """A message of seconds and nanos."""
    nanos = (micros * 1000).astype(np.int64)
    parts = (pieces.constant(b"\x08"), pieces.varints(seconds.view(np.uint64)), pieces.constant(b"\x10"))
    return pieces.sized(pieces.joined(*parts, pieces.varints(nanos.view(np.uint64))))


def json_text(message: Descriptor) -> Write:
    from google.protobuf.json_format import Parse, ParseError
    from google.protobuf.message_factory import GetMessageClass

    kind = GetMessageClass(message)

    def write(array: Any) -> Pieces:
        made, flaws = [], []
        for row, text in enumerate(array.to_pylist()):
            try:
                made.append(Parse(text, kind()).SerializeToString(deterministic=True))
            except (ParseError, RecursionError):
                made.append(b"")
                flaws.append(Flaw(row, "", f"The text is no JSON that {message.full_name} holds."))
        return pieces.sized(pa.array(made, pa.binary())), flaws

    return write


def tag_of(field: FieldDescriptor, wire: int | None = None) -> bytes:
    number = field.number << 3 | (WIRES.get(field.type, VARINT) if wire is None else wire)
    found: bytes = pieces.varints(np.array([number], np.uint64))[0].as_py()
    return found
