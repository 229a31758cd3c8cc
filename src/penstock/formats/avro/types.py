"""Which columns an Avro record gives."""

from __future__ import annotations

from penstock.formats.avro.schema import Node
from penstock.formats.types import Field, Type

PLAIN = {
    "boolean": "BOOLEAN",
    "int": "INT",
    "long": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "bytes": "BINARY",
    "string": "STRING",
    "fixed": "BINARY",
    "enum": "STRING",
}
LOGICAL = {
    "date": "DATE",
    "uuid": "STRING",
    "timestamp-millis": "TIMESTAMP",
    "timestamp-micros": "TIMESTAMP",
    "local-timestamp-millis": "TIMESTAMP",
    "local-timestamp-micros": "TIMESTAMP",
}
"""Times of day, nanoseconds and durations have no column type of their own: their plain numbers and bytes are kept."""
WIDEST = (("int", "long"), ("float", "double"))
"""Branches of a union that one column can hold: it has the type of the last."""


def fields_of(record: Node) -> tuple[Field, ...]:
    """The columns of a record, or the fields of a struct. A field that can only be null gives none."""
    made = []
    for field in record.fields:
        kind = type_of(field.type)
        if kind is not None:
            made.append(Field(field.name, kind, field.type.nullable))
    return tuple(made)


def type_of(node: Node) -> Type | None:
    """The column's type; None for what holds nothing: `null`, and records without fields."""
    values = node.values
    if not values:
        return None
    if len(values) == 1:
        return _single(values[0])
    for pair in WIDEST:
        if all(value.kind in pair and not value.logical for value in values):
            return Type(PLAIN[pair[-1]])
    members = [(f"member{number}", type_of(value)) for number, value in enumerate(values)]
    return Type("STRUCT", fields=tuple(Field(name, kind) for name, kind in members if kind is not None))


def is_member_struct(node: Node) -> bool:
    """Is this a union whose branches are the fields of a struct?"""
    values = node.values
    return len(values) > 1 and not any(
        all(value.kind in pair and not value.logical for value in values) for pair in WIDEST
    )


def _single(node: Node) -> Type | None:
    if node.logical == "decimal":
        return Type("DECIMAL", node.precision, node.scale)
    if node.logical:
        return Type(LOGICAL[node.logical])
    if node.kind == "record":
        fields = fields_of(node)
        return Type("STRUCT", fields=fields) if fields else None
    if node.kind in ("array", "map"):
        element = type_of(node.inner[0])
        return None if element is None else Type("ARRAY" if node.kind == "array" else "MAP", element=element)
    return Type(PLAIN[node.kind])
