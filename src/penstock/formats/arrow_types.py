"""A schema as Arrow types: what the columns of decoded batches are."""

from __future__ import annotations

from functools import cache

import pyarrow as pa

from penstock.formats.types import Field, Type

SIMPLE = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


def to_arrow(fields: tuple[Field, ...]) -> pa.Schema:
    """The Arrow schema; `nullable=False` at every level where the text says NOT NULL."""
    return pa.schema([arrow_field(field) for field in fields])


def arrow_field(field: Field) -> pa.Field:
    return pa.field(field.name, arrow_type(field.type), field.nullable)


@cache
def arrow_type(kind: Type) -> pa.DataType:
    match kind.name:
        case "DECIMAL":
            return pa.decimal128(kind.precision, kind.scale)
        case "ARRAY" if kind.element:
            return pa.list_(pa.field("element", arrow_type(kind.element)))
        case "MAP" if kind.element:
            return pa.map_(pa.string(), arrow_type(kind.element))
        case "STRUCT":
            return pa.struct([arrow_field(field) for field in kind.fields])
    return SIMPLE[kind.name]
