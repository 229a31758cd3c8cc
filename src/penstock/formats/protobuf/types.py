"""What a Protobuf message says of a row: its fields as columns.

    bool -> BOOLEAN; int32, sint32, sfixed32 -> INT; int64, sint64, sfixed64, uint32, fixed32 -> BIGINT;
    uint64, fixed64 -> DECIMAL(20,0); float -> FLOAT; double -> DOUBLE; string -> STRING; bytes -> BINARY;
    enum -> STRING (the name; of a number without a name, its digits); message -> STRUCT, or BOOLEAN (true where it is
    there) if it has no fields; repeated -> ARRAY; map -> MAP<STRING, T> (other keys as their text);
    Timestamp -> TIMESTAMP; Duration -> BIGINT, microseconds; wrappers (StringValue and its kin) -> their value, or
    null; Struct, Value, ListValue -> STRING that holds JSON.

Every column may be null but those that proto2 calls `required`: a field that a newer schema drops has to go on as
null. What is always there (proto3 without `optional`, lists, maps) has its default and is null only where the writer's
schema does not have the field.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import SchemaRefused
from penstock.formats.types import Field, Type

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

MOST_LEVELS = 50
GROUP, MESSAGE, ENUM = 10, 11, 14
SCALARS = {
    1: "DOUBLE", 2: "FLOAT", 3: "BIGINT", 5: "INT", 7: "BIGINT", 8: "BOOLEAN", 9: "STRING", 12: "BINARY",
    13: "BIGINT", 14: "STRING", 15: "INT", 16: "BIGINT", 17: "INT", 18: "BIGINT",
}  # fmt: skip
"""Number of a type in a descriptor -> type of the column."""
UNSIGNED_64 = (4, 6)
WRAPPERS = {
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
}
TIMESTAMP, DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"
JSON_TEXT = ("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue")


def fields_of(message: Descriptor) -> tuple[Field, ...]:
    """The columns of a row that is such a message. Raises SchemaRefused where it cannot be one."""
    if not message.fields:
        raise SchemaRefused(f"message {message.full_name}: it has no fields, so its rows would have no columns.")
    return _fields(message, (message.full_name,), "")


def type_of(field: FieldDescriptor, above: tuple[str, ...] = (), path: str = "") -> Type:
    """The type of a column that holds this field. `above` are the messages around it, `path` is its own place."""
    if is_map(field):
        return Type("MAP", element=single(field.message_type.fields_by_name["value"], above, path))
    one = single(field, above, path)
    return Type("ARRAY", element=one) if field.is_repeated else one


def single(field: FieldDescriptor, above: tuple[str, ...] = (), path: str = "") -> Type:
    """The type of one value of this field."""
    if field.type in UNSIGNED_64:
        return Type("DECIMAL", 20, 0)
    if field.type in SCALARS:
        return Type(SCALARS[field.type])
    if field.type == GROUP:
        raise SchemaRefused(
            f"field {path or field.full_name}: groups (`group`, `message_encoding = DELIMITED`) are not read.",
            remedy="Make it a message field.",
        )
    return _message(field.message_type, above, path)


def is_map(field: FieldDescriptor) -> bool:
    return bool(field.type == MESSAGE and field.is_repeated and field.message_type.GetOptions().map_entry)


def _message(message: Descriptor, above: tuple[str, ...], path: str) -> Type:
    name = message.full_name
    if name == TIMESTAMP:
        return Type("TIMESTAMP")
    if name == DURATION:
        return Type("BIGINT")
    if name in JSON_TEXT:
        return Type("STRING")
    if name in WRAPPERS:
        return single(message.fields_by_name["value"])
    if not message.fields:
        return Type("BOOLEAN")
    if name in above:
        raise SchemaRefused(
            f"field {path}: message {name} holds itself: a column would have no end.",
            remedy="Send the inner part as bytes or as text, or leave the field out of this schema.",
        )
    if len(above) > MOST_LEVELS:
        raise SchemaRefused(f"field {path}: messages are nested more than {MOST_LEVELS} levels deep.")
    return Type("STRUCT", fields=_fields(message, (*above, name), path))


def _fields(message: Descriptor, above: tuple[str, ...], path: str) -> tuple[Field, ...]:
    seen: dict[str, str] = {}
    found = []
    for field in message.fields:
        where = f"{path}/{field.name}"
        if field.name.startswith("_"):
            raise SchemaRefused(f"field {where}: names that start with `_` are penstock's.", remedy="Rename it.")
        other = seen.setdefault(field.name.lower(), field.name)
        if other != field.name:
            raise SchemaRefused(f"field {where}: it differs from `{other}` only in case: tables take them as one.")
        found.append(Field(field.name, type_of(field, above, where), nullable=not field.is_required))
    return tuple(found)
