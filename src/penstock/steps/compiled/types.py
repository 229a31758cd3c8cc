"""Spark's types as Arrow has them in the worker, and sorts of them."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from penstock.rows import TIME

NAMED = {
    "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(),
    "float": pa.float32(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
    "timestamp": TIME, "timestamp_ntz": pa.timestamp("us"), "void": pa.null(),
}  # fmt: skip
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


def arrow_type(written: Any) -> pa.DataType | None:
    """The type that Spark writes so as JSON; None for arrays, maps, structs and whatever else there is."""
    if not isinstance(written, str):
        return None
    decimal = _DECIMAL.fullmatch(written)
    if decimal:
        return pa.decimal128(int(decimal[1]), int(decimal[2])) if int(decimal[2]) >= 0 else None
    return NAMED.get(written)


def is_plain(kind: pa.DataType) -> bool:
    """Is it one value, of a type whose values are known here?"""
    return bool(pa.types.is_decimal128(kind)) or kind in NAMED.values()


def is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_signed_integer(kind))


def is_real(kind: pa.DataType) -> bool:
    return kind in (pa.float32(), pa.float64())


def bounds(kind: pa.DataType) -> tuple[int, int]:
    """The smallest and the largest whole number of the type."""
    half = 1 << (kind.bit_width - 1)
    return -half, half - 1
