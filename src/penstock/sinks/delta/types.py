"""Delta's types and Arrow's: how a column of one is named, written and compared in the other.

A Delta type is what stands in a table's log as JSON: a word (`long`, `decimal(18,2)`) or a map (`struct`, `array`,
`map`). Arrow types are what the worker holds. Both directions are here, so that no other module guesses.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

DeltaType = str | dict[str, Any]

WORDS: dict[str, pa.DataType] = {
    "string": pa.string(),
    "long": pa.int64(),
    "integer": pa.int32(),
    "short": pa.int16(),
    "byte": pa.int8(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
SQL = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}
_ALIKE = {pa.large_string(): "string", pa.large_binary(): "binary", pa.date64(): "date"}
_BY_ARROW = {arrow: word for word, arrow in WORDS.items()} | _ALIKE


class NoSuchType(ValueError):
    """A type that this sink cannot write; the message names it."""


def delta_type(arrow: pa.DataType) -> DeltaType:
    """The Delta type that a column of this Arrow type becomes."""
    if arrow in _BY_ARROW:
        return _BY_ARROW[arrow]
    if pa.types.is_decimal128(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    if pa.types.is_timestamp(arrow):
        return "timestamp" if arrow.tz else "timestamp_ntz"
    if pa.types.is_struct(arrow) and arrow.num_fields:
        return {"type": "struct", "fields": [delta_field(field) for field in arrow]}
    if pa.types.is_map(arrow):
        return {
            "type": "map",
            "keyType": delta_type(arrow.key_type),
            "valueType": delta_type(arrow.item_type),
            "valueContainsNull": arrow.item_field.nullable,
        }
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        element = arrow.value_field
        return {"type": "array", "elementType": delta_type(element.type), "containsNull": element.nullable}
    raise NoSuchType(str(arrow))


def delta_field(field: pa.Field, *, nullable: bool | None = None) -> dict[str, Any]:
    """A column as the table's log has it."""
    null = field.nullable if nullable is None else nullable
    return {"name": field.name, "type": delta_type(field.type), "nullable": null, "metadata": {}}


def arrow_type(delta: DeltaType) -> pa.DataType:
    """The Arrow type in which a column of this Delta type is written."""
    if isinstance(delta, dict):
        return _arrow_nested(delta)
    if delta in WORDS:
        return WORDS[delta]
    if match := re.fullmatch(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)", delta):
        return pa.decimal128(int(match[1]), int(match[2]))
    raise NoSuchType(delta)


def _arrow_nested(delta: dict[str, Any]) -> pa.DataType:
    match delta["type"]:
        case "struct":
            return pa.struct([arrow_field(field) for field in delta["fields"]])
        case "array":
            return pa.list_(pa.field("element", arrow_type(delta["elementType"]), delta["containsNull"]))
        case "map":
            key = pa.field("key", arrow_type(delta["keyType"]), nullable=False)
            return pa.map_(key, pa.field("value", arrow_type(delta["valueType"]), delta["valueContainsNull"]))
    raise NoSuchType(str(delta["type"]))


def arrow_field(field: dict[str, Any]) -> pa.Field:
    return pa.field(field["name"], arrow_type(field["type"]), field["nullable"])


def sql(delta: DeltaType) -> str:
    """The type as a person writes it: `BIGINT`, `STRUCT<os: STRING>`."""
    if isinstance(delta, str):
        return SQL.get(delta, delta.upper())
    match delta["type"]:
        case "struct":
            return "STRUCT<" + ", ".join(f"{field['name']}: {sql(field['type'])}" for field in delta["fields"]) + ">"
        case "array":
            return f"ARRAY<{sql(delta['elementType'])}>"
        case "map":
            return f"MAP<{sql(delta['keyType'])}, {sql(delta['valueType'])}>"
    return str(delta["type"]).upper()
