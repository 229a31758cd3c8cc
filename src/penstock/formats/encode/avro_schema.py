"""An Avro schema for columns: what `value: avro` registers where the subject has none, or lacks a column."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from penstock.errors import SchemaRefused
from penstock.schemas.contract import Schema

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SIMPLE: list[tuple[Callable[[Any], bool], Any]] = [
    (pa.types.is_boolean, "boolean"),
    (lambda kind: pa.types.is_signed_integer(kind) and kind.bit_width <= 32, "int"),
    (pa.types.is_signed_integer, "long"),
    (lambda kind: pa.types.is_floating(kind) and kind.bit_width <= 32, "float"),
    (pa.types.is_floating, "double"),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "string"),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), "bytes"),
    (pa.types.is_date32, {"type": "int", "logicalType": "date"}),
    (
        lambda kind: pa.types.is_timestamp(kind) and kind.tz is None,
        {"type": "long", "logicalType": "local-timestamp-micros"},
    ),
    (pa.types.is_timestamp, {"type": "long", "logicalType": "timestamp-micros"}),
]


def derived(columns: pa.Schema, name: str) -> Schema:
    """A record of these columns. One that may be null is a union with null, and null by default."""
    whole = type_name(name)
    body = {"type": "record", "name": whole, "namespace": "penstock", "fields": _fields(list(columns), whole, "")}
    return Schema(0, "avro", json.dumps(body))


def extended(schema: Schema, columns: pa.Schema) -> Schema:
    """The schema with an optional field for each column that its record lacks."""
    body = json.loads(schema.text)
    known = {field["name"] for field in body["fields"]}
    new = [column.with_nullable(True) for column in columns if column.name not in known]
    body["fields"] = [*body["fields"], *_fields(new, type_name(body["name"].rpartition(".")[2]), "")]
    return Schema(0, "avro", json.dumps(body), schema.references, schema.imported)


def type_name(text: str) -> str:
    """A name for a record: `big-orders` is `BigOrders`."""
    found = "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", text)) or "Row"
    return found if NAME.fullmatch(found) else f"Row{found}"


def _fields(columns: list[pa.Field], name: str, path: str) -> list[dict[str, Any]]:
    found = []
    for column in columns:
        where = f"{path}/{column.name}"
        if not NAME.fullmatch(column.name):
            raise _refused(where, "Avro has no such names: letters, digits and `_`.", "Rename it in a step.")
        kind = _type(column.type, f"{name}_{column.name}", where)
        if column.nullable:
            found.append({"name": column.name, "type": ["null", kind], "default": None})
        else:
            found.append({"name": column.name, "type": kind})
    return found


def _type(kind: pa.DataType, name: str, path: str) -> Any:
    if pa.types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if pa.types.is_struct(kind):
        return {"type": "record", "name": name, "fields": _fields(list(kind), name, path)}
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return {"type": "map", "values": _type(kind.item_type, name, path)}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": _type(kind.value_type, name, path)}
    found = next((avro for test, avro in SIMPLE if test(kind)), None)
    if found is None:
        raise _refused(path, f"Avro has no type for {kind}.", "Cast it to STRING in a step, or leave it out.")
    return found


def _refused(path: str, why: str, remedy: str) -> SchemaRefused:
    return SchemaRefused(f"column {path}: {why}", data="This sink wrote nothing.", remedy=remedy)
