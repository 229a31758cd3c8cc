"""Columns as Avro records, column by column."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaRefused
from penstock.formats.avro.schema import AvroField, Node, parsed, to_body
from penstock.formats.encode import pieces
from penstock.formats.encode.avro_schema import derived, extended
from penstock.formats.encode.contract import Encoded, Flaw
from penstock.formats.encode.pieces import Pieces, Write
from penstock.schemas.contract import Schema

TAKES: dict[str, Callable[[Any], bool]] = {
    "boolean": pa.types.is_boolean,
    "int": lambda kind: pa.types.is_signed_integer(kind) and kind.bit_width <= 32,
    "long": pa.types.is_signed_integer,
    "float": lambda kind: pa.types.is_floating(kind) and kind.bit_width <= 32,
    "double": pa.types.is_floating,
    "string": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    "enum": lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind),
    "bytes": lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    "fixed": lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind),
    "array": lambda kind: pa.types.is_list(kind) or pa.types.is_large_list(kind),
    "map": pa.types.is_map,
    "record": pa.types.is_struct,
}
NULL = "The value is null, and the schema does not allow that."


class AvroEncoding:
    """Schemas are Avro records."""

    def derived(self, columns: pa.Schema, name: str) -> Schema:
        return derived(columns, name)

    def extended(self, schema: Schema, columns: pa.Schema) -> Schema:
        return extended(schema, columns)

    def portable(self, schema: Schema) -> Schema:
        return schema

    def encoder(self, schema: Schema, columns: pa.Schema) -> AvroEncoder:
        return AvroEncoder(schema, columns)


class AvroEncoder:
    """Writes rows of these columns by one schema."""

    def __init__(self, schema: Schema, columns: pa.Schema) -> None:
        self.record = _record(parsed(schema), list(columns), "")

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        return pieces.in_parts(rows, lambda part: self.record(part.columns, part.num_rows))


def _record(node: Node, columns: list[pa.Field], path: str) -> Callable[[list[pa.Array], int], Pieces]:
    """Writes records from arrays, one for each column in its order."""
    places = {column.name: place for place, column in enumerate(columns)}
    strange = [name for name in places if name not in {field.name for field in node.fields}]
    if strange:
        raise _refused(f"{path}/{strange[0]}", f"the schema's record `{node.name}` has no such field.")
    parts: list[tuple[str, int, Write] | bytes] = []
    for field in node.fields:
        where = f"{path}/{field.name}"
        if field.name in places:
            place = places[field.name]
            parts.append((field.name, place, _value(field.type, columns[place].type, where)))
        else:
            parts.append(_default(field, where))

    def write(arrays: list[pa.Array], count: int) -> Pieces:
        made: list[Any] = []
        flaws: list[Flaw] = []
        for part in parts:
            if isinstance(part, bytes):
                made.append(pieces.repeated(part, count))
                continue
            name, place, one = part
            found, wrong = one(arrays[place])
            made.append(found)
            flaws += pieces.below(wrong, name)
        return (pieces.joined(*made) if made else pieces.repeated(b"", count)), flaws

    return write


def _default(field: AvroField, path: str) -> bytes:
    """The bytes of a field that no column gives."""
    import fastavro

    if field.default is None:
        raise _refused(path, "the schema wants this field, and no column gives it.")
    out = BytesIO()
    whole = {"type": "record", "name": "penstock_default", "fields": [{"name": "x", "type": to_body(field.type)}]}
    default = json.loads(field.default)
    if field.type.branches[0].kind in ("bytes", "fixed") and isinstance(default, str):
        default = default.encode("latin-1")
    fastavro.schemaless_writer(out, fastavro.parse_schema(whole), {"x": default})
    return out.getvalue()


def _value(node: Node, kind: pa.DataType, path: str) -> Write:
    """Writes a value that may be null, as the schema lets it be."""
    if len(node.values) != 1:
        raise _refused(path, "the schema lets it be one of several types; a column has one.")
    write = _plain(node.values[0], kind, path)
    if not node.nullable:
        return lambda array: pieces.present(array, write, NULL)
    branches = [branch.kind for branch in node.branches]
    if branches == ["null"]:
        raise _refused(path, "the schema lets it be null only.")
    none = branches.index("null")
    head, empty = (pieces.constant(bytes([place * 2])) for place in (1 - none, none))

    def write_union(array: Any) -> Pieces:
        found, flaws = pieces.sparse(array, write)
        return pc.fill_null(pieces.joined(head, found), empty), flaws

    return write_union


def _plain(node: Node, kind: pa.DataType, path: str) -> Write:
    """Writes values that are there."""
    if node.logical and (write := _logical(node, kind)):
        return write
    if node.logical or not TAKES[node.kind](kind):
        said = f"{node.logical} ({node.kind})" if node.logical else node.kind
        raise _refused(path, f"the column is {kind}, and the schema says {said}.")
    if node.kind == "record":
        record = _record(node, list(kind), path)
        return lambda array: record(array.flatten(), len(array))
    if node.kind in ("array", "map"):
        return _block(node, kind, path)
    return _SIMPLE[node.kind](node)


def _logical(node: Node, kind: pa.DataType) -> Write | None:
    if node.logical == "decimal" and pa.types.is_decimal(kind):
        whole = node.precision - node.scale
        if kind.scale <= node.scale and kind.precision - kind.scale <= whole:
            return _decimal(node)
    if node.logical == "date" and pa.types.is_date32(kind):
        return lambda array: (_zigzags(array.cast(pa.int32())), [])
    if node.logical.endswith(("timestamp-micros", "timestamp-millis")) and pa.types.is_timestamp(kind):
        unit = 1 if node.logical.endswith("micros") else 1000
        return lambda array: (pieces.varints(pieces.zigzag(pieces.micros(array) // unit)), [])
    if node.logical == "uuid" and node.kind == "string" and TAKES["string"](kind):
        return _SIMPLE["string"](node)
    return None


def _zigzags(array: Any) -> pa.Array:
    return pieces.varints(pieces.zigzag(pieces.numbers_of(array)))


def _sized(array: Any) -> Pieces:
    return pieces.sized(array.cast(pa.binary()), pieces.zigzag), []


def _enum(node: Node) -> Write:
    symbols = pa.array(node.symbols, pa.string())

    def write(array: Any) -> Pieces:
        places = pc.index_in(array.cast(pa.string()), value_set=symbols)
        bad = np.flatnonzero(pieces.numbers_of(places.is_null()))
        flaws = [Flaw(int(row), "", f"The enum `{node.name}` has no such symbol.") for row in bad]
        return _zigzags(pc.fill_null(places, 0)), flaws

    return write


def _fixed(node: Node) -> Write:
    def write(array: Any) -> Pieces:
        sizes = pieces.numbers_of(pc.binary_length(array))
        bad = np.flatnonzero(sizes != node.size)
        return array.cast(pa.binary()), [
            Flaw(int(row), "", f"It has {sizes[row]} bytes, and `{node.name}` has {node.size}.") for row in bad
        ]

    return write


def _decimal(node: Node) -> Write:
    """Decimals as whole numbers, highest byte first: as few bytes as hold the number, or as many as a fixed has."""

    def write(array: Any) -> Pieces:
        exact = array.cast(pa.decimal128(38, node.scale))
        buffer = np.frombuffer(exact.buffers()[1], np.uint8)[exact.offset * 16 : (exact.offset + len(exact)) * 16]
        whole = buffer.reshape(-1, 16)[:, ::-1]
        if node.kind == "fixed":
            return _to_size(whole, node)
        sign = (whole[:, :1] >> 7) * np.uint8(255)
        lead = np.minimum((whole == sign).cumprod(axis=1).sum(axis=1), 15)
        lead -= (lead > 0) & ((whole[np.arange(len(whole)), lead] ^ sign[:, 0]) >> 7 == 1)
        kept = np.arange(16)[None, :] >= lead[:, None]
        offsets = np.concatenate([[0], np.cumsum(16 - lead)])
        return pieces.sized(pieces.from_numpy(whole[kept], offsets), pieces.zigzag), []

    return write


def _to_size(whole: Any, node: Node) -> Pieces:
    """Cut or filled to the size of a fixed; what does not fit is a flaw."""
    sign = (whole[:, :1] >> 7) * np.uint8(255)
    if node.size >= 16:
        made = np.concatenate([np.repeat(sign, node.size - 16, axis=1), whole], axis=1)
        bad = np.zeros(len(whole), np.bool_)
    else:
        made = whole[:, 16 - node.size :]
        bad = (whole[:, : 16 - node.size] != sign).any(axis=1) | ((made[:, :1] ^ sign) >> 7 == 1).any(axis=1)
    flaws = [
        Flaw(int(row), "", f"It does not fit into the {node.size} bytes of `{node.name}`.")
        for row in np.flatnonzero(bad)
    ]
    return pieces.from_numpy(made.reshape(-1), np.arange(len(whole) + 1) * node.size), flaws


def _block(node: Node, kind: pa.DataType, path: str) -> Write:
    """Arrays and maps: how many, each of them, and a zero."""
    inner = kind.item_type if node.kind == "map" else kind.value_type
    if node.kind == "map" and not TAKES["string"](kind.key_type):
        raise _refused(path, f"keys of a map are texts in Avro; the column's are {kind.key_type}.")
    one = _value(node.inner[0], inner, path)

    def write(array: Any) -> Pieces:
        found, starts = pieces.elements(array)
        if node.kind == "map":
            keys, values = found.flatten()
            made, flaws = one(values)
            made = pieces.joined(_sized(keys)[0], made)
        else:
            made, flaws = one(found)
        counts = np.diff(starts)
        heads = pc.if_else(pa.array(counts > 0), pieces.varints(pieces.zigzag(counts)), pieces.constant(b""))
        body = pieces.joined(heads, pieces.gathered(made, starts), pieces.constant(b"\x00"))
        return body, pieces.above(flaws, starts)

    return write


_SIMPLE: dict[str, Callable[[Node], Write]] = {
    "boolean": lambda _: lambda array: (pieces.fixed(pieces.numbers_of(array).astype(np.uint8)), []),
    "int": lambda _: lambda array: (_zigzags(array), []),
    "long": lambda _: lambda array: (_zigzags(array), []),
    "float": lambda _: lambda array: (pieces.fixed(pieces.numbers_of(array).astype(np.float32)), []),
    "double": lambda _: lambda array: (pieces.fixed(pieces.numbers_of(array).astype(np.float64)), []),
    "string": lambda _: _sized,
    "bytes": lambda _: _sized,
    "enum": _enum,
    "fixed": _fixed,
}


def _refused(path: str, why: str) -> SchemaRefused:
    return SchemaRefused(f"column {path}: {why}", data="This sink wrote nothing.")
