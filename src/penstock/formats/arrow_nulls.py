"""NOT NULL inside a STRUCT that may be null: Arrow wants a value there, and Parquet's writer insists on it."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.arrow_types import arrow_type
from penstock.formats.types import Field, Type

FILLERS: dict[str, Any] = {
    "BOOLEAN": False,
    "TINYINT": 0,
    "SMALLINT": 0,
    "INT": 0,
    "BIGINT": 0,
    "FLOAT": 0.0,
    "DOUBLE": 0.0,
    "DECIMAL": Decimal(0),
    "STRING": "",
    "BINARY": b"",
    "DATE": datetime.date(1970, 1, 1),
    "TIMESTAMP": datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC),
}


def needs_filling(kind: Type) -> bool:
    """Whether a NOT NULL stands anywhere inside."""
    inside = any(not field.nullable or needs_filling(field.type) for field in kind.fields)
    return inside or bool(kind.element and needs_filling(kind.element))


def filled(array: pa.Array, field: Field) -> pa.Array:
    """The same values; what is NOT NULL inside has a filler where the STRUCT around it is null.

    The field itself keeps its nulls: a rejected record is null in every column.
    """
    if not needs_filling(field.type):
        return array
    return _rebuilt(array, field.type, array.is_null() if array.null_count else None)


def _rebuilt(array: pa.Array, kind: Type, mask: pa.Array | None) -> pa.Array:
    if kind.name == "STRUCT":
        children = [_inner(child, field) for field, child in zip(kind.fields, array.flatten(), strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(arrow_type(kind)), mask=mask)
    assert kind.element is not None
    element = Field("", kind.element)
    offsets = pa.array(array.offsets.to_numpy())  # a copy: a sliced one is refused beside a mask
    if kind.name == "ARRAY":
        return pa.ListArray.from_arrays(offsets, filled(array.values, element), type=arrow_type(kind), mask=mask)
    items = filled(array.items, element)
    return pa.MapArray.from_arrays(offsets, array.keys, items, type=arrow_type(kind), mask=mask)


def _inner(child: pa.Array, field: Field) -> pa.Array:
    """A field of a STRUCT: without any null if it is NOT NULL."""
    if field.nullable or not child.null_count:
        return filled(child, field)
    if field.type.name in FILLERS:
        return pc.fill_null(child, pa.scalar(FILLERS[field.type.name], child.type))
    return _rebuilt(child, field.type, None)
