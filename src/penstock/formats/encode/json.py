"""Columns as JSON objects that a JSON Schema describes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaRefused
from penstock.formats.encode.avro_schema import type_name
from penstock.formats.encode.contract import Encoded, Flaw
from penstock.formats.encode.json_values import encodable, encode
from penstock.formats.json_schema.columns import validator_of, violation
from penstock.formats.json_schema.refs import documents_of
from penstock.formats.json_schema.types import shape_of
from penstock.schemas.contract import Schema

DRAFT = "http://json-schema.org/draft-07/schema#"
SIMPLE: list[tuple[Callable[[Any], bool], dict[str, Any]]] = [
    (pa.types.is_boolean, {"type": "boolean"}),
    (pa.types.is_integer, {"type": "integer"}),
    (lambda kind: pa.types.is_floating(kind) or pa.types.is_decimal(kind), {"type": "number"}),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), {"type": "string"}),
    (
        lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
        {"type": "string", "contentEncoding": "base64"},
    ),
    (pa.types.is_date32, {"type": "string", "format": "date"}),
    (pa.types.is_timestamp, {"type": "string", "format": "date-time"}),
]


class JsonSchemaEncoding:
    """Schemas are JSON Schemas of objects."""

    def derived(self, columns: pa.Schema, name: str) -> Schema:
        """A closed object with a property for each column; required where it cannot be null."""
        body = {"$schema": DRAFT, "title": type_name(name), **_object(list(columns), "")}
        return Schema(0, "json", json.dumps(body))

    def extended(self, schema: Schema, columns: pa.Schema) -> Schema:
        """The schema with an optional property for each column that it lacks."""
        body = json.loads(schema.text)
        known = body.get("properties")
        if not isinstance(known, dict):
            raise SchemaRefused("the subject's schema names no properties.", data="This sink wrote nothing.")
        new = [column.with_nullable(True) for column in columns if column.name not in known]
        body["properties"] = {**known, **{column.name: _property(column, "") for column in new}}
        return Schema(0, "json", json.dumps(body), schema.references, schema.imported)

    def portable(self, schema: Schema) -> Schema:
        return schema

    def encoder(self, schema: Schema, columns: pa.Schema) -> JsonSchemaEncoder:
        return JsonSchemaEncoder(schema, columns)


class JsonSchemaEncoder:
    """Writes rows as objects; what is null is left out, but where the schema wants it to be there.

    Every object is held against the schema, unless it says nothing that the columns' own types do not.
    """

    def __init__(self, schema: Schema, columns: pa.Schema) -> None:
        documents = documents_of(schema)
        root = documents.root if isinstance(documents.root, dict) else {}
        known, required = root.get("properties") or {}, root.get("required") or []
        for column in columns:
            if column.name not in known:
                raise _refused(f"/{column.name}", "the subject's schema has no such property.")
            if not encodable(column.type):
                raise _refused(f"/{column.name}", f"JSON has no text for {column.type}.")
        missing = [name for name in required if name not in columns.names]
        if missing:
            raise _refused(f"/{missing[0]}", "the schema wants this property, and no column gives it.")
        self.kept = frozenset(required)
        self.columns = columns
        self.validator = None if _is_ours(root, columns) else validator_of(documents)
        self._check_types(schema, columns)

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        made = encode(rows, sparse=True, kept=self.kept)
        flaws = [*made.flaws, *self._nulls(rows)]
        if self.validator is not None:
            out = {flaw.row for flaw in flaws}
            for row, text in enumerate(made.values.to_pylist()):
                flaws += self._wrong(row, text) if row not in out else []
        return Encoded(made.values, sorted(flaws))

    def _nulls(self, rows: pa.RecordBatch) -> list[Flaw]:
        """Rows that are null where our own schema does not allow it; another one's validator finds them."""
        if self.validator is not None:
            return []
        found = []
        for name in self.kept:
            for row in pc.indices_nonzero(rows.column(name).is_null()).to_pylist():
                found.append(Flaw(row, f"/{name}", "The value is null, and the schema does not allow that."))
        return found

    def _wrong(self, row: int, text: bytes) -> list[Flaw]:
        found = violation(self.validator, text)
        return [] if found is None else [Flaw(row, found[0] or "", found[1])]

    def _check_types(self, schema: Schema, columns: pa.Schema) -> None:
        """Refuse a column that could not fit in any row: it is told before the first one."""
        given = {column.name: _sort(column.type) for column in columns}
        try:
            wanted = {field.name: SORTS[field.type.name] for field in shape_of(documents_of(schema)).fields}
        except SchemaRefused:
            return  # a schema that is no row type: every object is held against it all the same
        for name, sort in given.items():
            if name in wanted and sort not in (wanted[name], "null") and (sort, wanted[name]) != ("integer", "number"):
                raise _refused(
                    f"/{name}", f"the column is {columns.field(name).type}, and the schema says {wanted[name]}."
                )


SORTS = {
    "BOOLEAN": "boolean", "BIGINT": "integer", "DOUBLE": "number", "DECIMAL": "number", "STRING": "string",
    "BINARY": "string", "DATE": "string", "TIMESTAMP": "string", "ARRAY": "array", "MAP": "object", "STRUCT": "object",
}  # fmt: skip


def _sort(kind: pa.DataType) -> str:
    """The type in JSON of what this column holds."""
    if pa.types.is_struct(kind) or pa.types.is_map(kind):
        return "object"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return "array"
    return str(next((body["type"] for test, body in SIMPLE if test(kind)), "null"))


def _is_ours(root: dict[str, Any], columns: pa.Schema) -> bool:
    """Is this the schema that these columns give? Then whatever they hold keeps to it."""
    try:
        own = _object(list(columns), "")
    except SchemaRefused:
        return False
    return all(root.get(key) == value for key, value in own.items()) and set(root) <= {*own, "$schema", "title"}


def _object(columns: list[pa.Field], path: str) -> dict[str, Any]:
    properties = {column.name: _property(column, path) for column in columns}
    required = [column.name for column in columns if not column.nullable]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _property(column: pa.Field, path: str) -> dict[str, Any]:
    return _type(column.type, f"{path}/{column.name}")


def _type(kind: pa.DataType, path: str) -> dict[str, Any]:
    if pa.types.is_struct(kind):
        return _object(list(kind), path)
    if pa.types.is_map(kind):
        return {"type": "object", "additionalProperties": _nullable(_type(kind.item_type, path))}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": _nullable(_type(kind.value_type, path))}
    found = next((body for test, body in SIMPLE if test(kind)), None)
    if found is None:
        raise _refused(path, f"JSON has no text for {kind}.")
    return dict(found)


def _nullable(body: dict[str, Any]) -> dict[str, Any]:
    """Elements may be null: they cannot be left out."""
    return {**body, "type": [body["type"], "null"]}


def _refused(path: str, why: str) -> SchemaRefused:
    return SchemaRefused(f"column {path}: {why}", data="This sink wrote nothing.")
