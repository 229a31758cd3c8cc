"""Columns as Protobuf messages, column by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import SchemaRefused
from penstock.formats.encode import pieces
from penstock.formats.encode.contract import Encoded, Flaw
from penstock.formats.encode.pieces import Pieces, Write
from penstock.formats.encode.protobuf_schema import derived, extended
from penstock.formats.encode.protobuf_values import LENGTH, TEXT, instants, json_text, of_scalar, spans, tag_of, wrapped
from penstock.formats.protobuf.files import compiled
from penstock.formats.protobuf.indexes import encoded
from penstock.formats.protobuf.messages import indexes_of, messages_of
from penstock.formats.protobuf.types import DURATION, GROUP, JSON_TEXT, MESSAGE, TIMESTAMP, WRAPPERS, is_map
from penstock.schemas.contract import Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor


class ProtobufEncoding:
    """Schemas are `.proto` texts; the row is their first message."""

    def derived(self, columns: pa.Schema, name: str) -> Schema:
        return derived(columns, name)

    def extended(self, schema: Schema, columns: pa.Schema) -> Schema:
        return extended(schema, messages_of(schema).named(), columns)

    def portable(self, schema: Schema) -> Schema:
        return compiled(schema)

    def encoder(self, schema: Schema, columns: pa.Schema) -> ProtobufEncoder:
        return ProtobufEncoder(schema, columns)


class ProtobufEncoder:
    """Writes rows of these columns as messages of one type."""

    def __init__(self, schema: Schema, columns: pa.Schema) -> None:
        message = messages_of(schema).named()
        self.head = pieces.constant(encoded(indexes_of(message)))
        self.message = _message(message, list(columns), "")

    def encode(self, rows: pa.RecordBatch) -> Encoded:
        return pieces.in_parts(rows, self._part)

    def _part(self, rows: pa.RecordBatch) -> Pieces:
        found, flaws = self.message(rows.columns, rows.num_rows)
        return pieces.joined(self.head, found), flaws


def _message(message: Descriptor, columns: list[pa.Field], path: str) -> Callable[[list[pa.Array], int], Pieces]:
    """Writes messages from arrays, one for each column in its order."""
    writers: list[tuple[int, str, Write, str]] = []
    for column in columns:
        where = f"{path}/{column.name}"
        field = message.fields_by_name.get(column.name)
        if field is None:
            raise _refused(where, f"the schema's message {message.full_name} has no such field.")
        choice = field.containing_oneof.name if field.containing_oneof is not None else ""
        writers.append((field.number, column.name, _field(field, column.type, where), choice))
    given = {column.name for column in columns}
    for field in message.fields:
        if field.is_required and field.name not in given:
            raise _refused(f"{path}/{field.name}", "the schema wants this field, and no column gives it.")
    order = sorted(range(len(writers)), key=lambda place: writers[place][0])

    def write(arrays: list[pa.Array], count: int) -> Pieces:
        made: list[Any] = []
        flaws = _choices([(choice, arrays[place]) for place, (_, _, _, choice) in enumerate(writers) if choice])
        for place in order:
            _, name, one, _ = writers[place]
            found, wrong = one(arrays[place])
            made.append(found)
            flaws += pieces.below(wrong, name)
        return (pieces.joined(*made) if made else pieces.repeated(b"", count)), flaws

    return write


def _choices(members: list[tuple[str, pa.Array]]) -> list[Flaw]:
    """Rows in which more than one field of a `oneof` has a value."""
    flaws = []
    for choice in sorted({name for name, _ in members}):
        arrays = [array for name, array in members if name == choice]
        if len(arrays) < 2:
            continue
        total = sum(pieces.numbers_of(array.is_valid()).astype(np.int64) for array in arrays)
        why = f"More than one field of `oneof {choice}` has a value."
        flaws += [Flaw(int(row), "", why) for row in np.flatnonzero(np.asarray(total) > 1)]
    return flaws


def _field(field: FieldDescriptor, kind: pa.DataType, path: str) -> Write:
    """Writes a field with its tag; nothing where it is null."""
    if field.type == GROUP:
        raise _refused(path, "the schema makes it a group, which is not written.")
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    if is_map(field) != pa.types.is_map(kind) or (field.is_repeated and not is_map(field)) != is_list:
        raise _refused(path, f"the column is {kind}, and the schema says {_said(field)}.")
    if is_map(field):
        return _map(field, kind, path)
    if is_list:
        return _list(field, kind, path)
    one, tag = _single(field, kind, path), pieces.constant(tag_of(field))

    def write(array: Any) -> Pieces:
        found, flaws = pieces.sparse(array, one)
        return pc.fill_null(pieces.joined(tag, found), pieces.constant(b"")), flaws

    if field.is_required:
        return lambda array: pieces.present(array, write, "The value is null, and the schema requires it.")
    return write


def _list(field: FieldDescriptor, kind: pa.DataType, path: str) -> Write:
    one = _single(field, kind.value_type, path)
    why = "An element is null, which Protobuf cannot say."

    def write(array: Any) -> Pieces:
        found, starts = pieces.elements(array)
        made, flaws = pieces.present(found, one, why)
        if not field.is_packed:
            return pieces.gathered(pieces.joined(pieces.constant(tag_of(field)), made), starts), pieces.above(
                flaws, starts
            )
        body = pieces.joined(pieces.constant(tag_of(field, LENGTH)), pieces.sized(pieces.gathered(made, starts)))
        some = pa.array(np.diff(starts) > 0)
        return pc.if_else(some, body, pieces.constant(b"")), pieces.above(flaws, starts)

    return lambda array: _or_nothing(array, write)


def _map(field: FieldDescriptor, kind: pa.DataType, path: str) -> Write:
    key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
    if key.type != TEXT or not pa.types.is_string(kind.key_type):
        raise _refused(path, "only maps with keys of texts are written.")
    one, tag = _single(value, kind.item_type, path), pieces.constant(tag_of(field))
    heads = pieces.constant(tag_of(key)), pieces.constant(tag_of(value))

    def write(array: Any) -> Pieces:
        entries, starts = pieces.elements(array)
        keys, items = entries.flatten()
        made, flaws = pieces.present(items, one, "A value of the map is null, which Protobuf cannot say.")
        pair = pieces.joined(heads[0], pieces.sized(keys.cast(pa.binary())), heads[1], made)
        return pieces.gathered(pieces.joined(tag, pieces.sized(pair)), starts), pieces.above(flaws, starts)

    return lambda array: _or_nothing(array, write)


def _or_nothing(array: Any, write: Write) -> Pieces:
    found, flaws = pieces.sparse(array, write)
    return pc.fill_null(found, pieces.constant(b"")), flaws


def _single(field: FieldDescriptor, kind: pa.DataType, path: str) -> Write:
    """Writes one value, without its tag."""
    write = _of_message(field, kind, path) if field.type == MESSAGE else of_scalar(field, kind)
    if write is None:
        raise _refused(path, f"the column is {kind}, and the schema says {_said(field)}.")
    return write


def _of_message(field: FieldDescriptor, kind: pa.DataType, path: str) -> Write | None:
    message = field.message_type
    if message.full_name == TIMESTAMP:
        return instants if pa.types.is_timestamp(kind) else None
    if message.full_name == DURATION:
        return spans if pa.types.is_integer(kind) else None
    if message.full_name in JSON_TEXT:
        return json_text(message) if pa.types.is_string(kind) else None
    if message.full_name in WRAPPERS:
        return wrapped(message, kind)
    if not pa.types.is_struct(kind):
        return None
    inner = _message(message, list(kind), path)

    def write(array: Any) -> Pieces:
        found, flaws = inner(array.flatten(), len(array))
        return pieces.sized(found), flaws

    return write


def _said(field: FieldDescriptor) -> str:
    many = "map" if is_map(field) else "repeated " if field.is_repeated else ""
    if is_map(field):
        return many
    if field.type == MESSAGE:
        return many + str(field.message_type.full_name)
    names = {1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool",
             9: "string", 12: "bytes", 13: "uint32", 14: "an enum", 15: "sfixed32", 16: "sfixed64", 17: "sint32",
             18: "sint64"}  # fmt: skip
    return many + names.get(int(field.type), "something else")


def _refused(path: str, why: str) -> SchemaRefused:
    return SchemaRefused(f"column {path}: {why}", data="This sink wrote nothing.")
