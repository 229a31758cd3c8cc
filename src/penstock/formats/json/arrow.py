"""Between Arrow's JSON reader and our columns: what it reads, what must be looked at again, what is converted.

Arrow's reader knows no DATE and takes BINARY as plain text, so both are read as text and converted here; it knows
no NOT NULL, gives infinities for what overflows, reads times outside the years 0001 to 9999, and takes `1e4` for a
DECIMAL(6,2), which it then does not fit. `suspects` names the rows with any of these; the scanner judges them.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.arrow_types import arrow_type
from penstock.formats.json.scalars import EXACT, Unfit, base64
from penstock.formats.types import Field, Type

Indices = np.ndarray[tuple[int], np.dtype[np.int64]]
NONE: Indices = np.empty(0, np.int64)
FIRST, LAST = -62135596800000000, 253402300799999999
"""Microseconds of 0001-01-01 and of the last moment of 9999, UTC."""
FIRST_DAY = -719162
BINARY = Type("BINARY")
UNSURE = ("FLOAT", "DOUBLE", "DECIMAL", "TIMESTAMP", "DATE", "BINARY", "STRUCT", "ARRAY")
"""Types whose parsed columns are looked at again."""


def has(kind: Type, *names: str) -> bool:
    """Whether a type of one of these names stands anywhere in it."""
    inner = [field.type for field in kind.fields] + ([kind.element] if kind.element else [])
    return kind.name in names or any(has(one, *names) for one in inner)


def decimals(fields: tuple[Field, ...]) -> list[Type]:
    """Every DECIMAL in these fields."""
    kinds = [field.type for field in fields]
    inner = [found for kind in kinds for found in decimals(kind.fields)]
    elements = [found for kind in kinds if kind.element for found in decimals((Field("", kind.element),))]
    return [kind for kind in kinds if kind.name == "DECIMAL"] + inner + elements


def read_type(kind: Type) -> pa.DataType:
    """The type that Arrow's reader is asked for."""
    if kind.name in ("DATE", "BINARY"):
        return pa.string()
    if kind.name == "ARRAY" and kind.element:
        return pa.list_(pa.field("element", read_type(kind.element)))
    if kind.name == "STRUCT":
        return pa.struct([pa.field(field.name, read_type(field.type)) for field in kind.fields])
    return arrow_type(kind)


def suspects(array: pa.Array, field: Field) -> Indices:
    """Rows whose value of this field the scanner must look at."""
    found = [] if field.nullable or not array.null_count else [_where(pc.is_null(array))]
    found += list(_inner_suspects(array, field.type))
    return np.concatenate(found) if found else NONE


def _inner_suspects(array: pa.Array, kind: Type) -> Iterator[Indices]:
    match kind.name:
        case "FLOAT" | "DOUBLE":
            finite = pc.is_finite(array)
            if pc.all(finite).as_py() is False:
                yield _where(pc.invert(finite))
        case "DECIMAL":
            most = Decimal(10**kind.precision - 1).scaleb(-kind.scale, EXACT)
            yield from _outside(array, most.copy_negate(), most)
        case "TIMESTAMP":
            yield from _outside(array.view(pa.int64()), FIRST, LAST)
        case "DATE":
            yield from _bad_dates(array)
        case "BINARY":
            yield np.array([i for i, text in enumerate(array.to_pylist()) if _bytes(text) is False], np.int64)
        case "ARRAY" if kind.element:
            inside = suspects(array.flatten(), Field("", kind.element))
            if len(inside):
                yield pc.list_parent_indices(array).to_numpy().astype(np.int64)[inside]
        case "STRUCT":
            yield from _struct_suspects(array, kind)


def _struct_suspects(array: pa.StructArray, kind: Type) -> Iterator[Indices]:
    there = array.is_valid() if array.null_count else None
    for field, child in zip(kind.fields, array.flatten(), strict=True):
        yield suspects(child, Field(field.name, field.type))
        if not field.nullable and child.null_count:
            missing = child.is_null()
            yield _where(missing if there is None else pc.and_(missing, there))


def _outside(array: pa.Array, least: int | Decimal, most: int | Decimal) -> Iterator[Indices]:
    ends = pc.min_max(array)
    if ends["min"].is_valid and (ends["min"].as_py() < least or ends["max"].as_py() > most):
        low, high = pa.scalar(least, array.type), pa.scalar(most, array.type)
        yield _where(pc.or_(pc.less(array, low), pc.greater(array, high)))


def _bad_dates(array: pa.Array) -> Iterator[Indices]:
    shaped = pc.match_substring_regex(array, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}\z")
    if pc.all(shaped).as_py() is False:
        yield _where(pc.invert(shaped))
        array = pc.if_else(shaped, array, None)
    try:
        days = array.cast(pa.date32())
    except pa.ArrowInvalid:
        yield np.array([i for i, text in enumerate(array.to_pylist()) if text and not _is_date(text)], np.int64)
    else:
        yield from _outside(days.view(pa.int32()), FIRST_DAY, 1 << 30)


def _is_date(text: str) -> bool:
    try:
        return bool(np.datetime64(text, "D") >= np.datetime64("0001-01-01", "D"))
    except ValueError:
        return False


def _bytes(text: str | None) -> bytes | bool | None:
    """The bytes of base64 text, False if it is none."""
    if text is None:
        return None
    try:
        return base64(text, BINARY)
    except Unfit:
        return False


def _where(mask: pa.Array) -> Indices:
    return np.asarray(pc.indices_nonzero(mask).to_numpy(), np.int64)


def converted(array: pa.Array, kind: Type) -> pa.Array:
    """The column in its declared type; no suspects are left in it."""
    if array.type == arrow_type(kind):
        return array
    match kind.name:
        case "DATE":
            return array.cast(pa.date32())
        case "BINARY":
            return pa.array([_bytes(text) for text in array.to_pylist()], pa.binary())
        case "ARRAY" if kind.element:
            return _list(array, converted(array.flatten(), kind.element), kind)
    return _struct(array, kind)


def _list(array: pa.ListArray, values: pa.Array, kind: Type) -> pa.Array:
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(offsets, values, type=arrow_type(kind), mask=mask)


def _struct(array: pa.StructArray, kind: Type) -> pa.Array:
    children: list[Any] = [
        converted(child, field.type) for field, child in zip(kind.fields, array.flatten(), strict=True)
    ]
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(arrow_type(kind)), mask=mask)
