"""A Protobuf schema for columns: what `value: protobuf` registers where the subject has none, or lacks a column."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.errors import SchemaRefused
from penstock.formats.encode.avro_schema import type_name
from penstock.schemas.contract import Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
TIMESTAMP = "google.protobuf.Timestamp"
IMPORT = 'import "google/protobuf/timestamp.proto";'
RESERVED = range(19_000, 20_000)
"""Numbers that Protobuf keeps for itself."""
SIMPLE: list[tuple[Callable[[Any], bool], str]] = [
    (pa.types.is_boolean, "bool"),
    (lambda kind: pa.types.is_signed_integer(kind) and kind.bit_width <= 32, "int32"),
    (pa.types.is_signed_integer, "int64"),
    (lambda kind: pa.types.is_floating(kind) and kind.bit_width <= 32, "float"),
    (pa.types.is_floating, "double"),
    (lambda kind: pa.types.is_binary(kind) or pa.types.is_large_binary(kind), "bytes"),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), "string"),
    (lambda kind: pa.types.is_date32(kind) or pa.types.is_decimal(kind), "string"),
    (pa.types.is_timestamp, TIMESTAMP),
]
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_][\w.]*|[{};]|.', re.DOTALL)


def derived(columns: pa.Schema, name: str) -> Schema:
    """A message with a field for each column, numbered in their order; `optional` where it may be null."""
    lines = _fields(list(columns), 1, "")
    head = ['syntax = "proto3";', "package penstock;"]
    head += [IMPORT] if any(TIMESTAMP in line for line in lines) else []
    return Schema(0, "protobuf", "\n".join([*head, "", f"message {type_name(name)} {{", *lines, "}", ""]))


def extended(schema: Schema, message: Descriptor, columns: pa.Schema) -> Schema:
    """The schema's text with an `optional` field for each column that its first message lacks."""
    from google.protobuf.descriptor_pb2 import DescriptorProto

    own = DescriptorProto()
    message.CopyToProto(own)
    ends = [each.end - 1 for each in (*own.reserved_range, *own.extension_range) if each.end < 1 << 28]
    used = max([0, *(field.number for field in message.fields), *ends])
    new = [column.with_nullable(True) for column in columns if column.name not in message.fields_by_name]
    lines = _fields(new, used + 1, "")
    head, end = _places(schema.text, message.name)
    text = schema.text[:end] + "\n".join(["", *lines, ""]) + schema.text[end:]
    if any(TIMESTAMP in line for line in lines) and "google/protobuf/timestamp.proto" not in text:
        text = f"{text[:head]}\n{IMPORT}{text[head:]}"
    return Schema(0, "protobuf", text, schema.references, schema.imported)


def _places(text: str, name: str) -> tuple[int, int]:
    """Where the statements at the head of a `.proto` text end, and where its message of this name does."""
    level, head, inside = 0, 0, False
    words: list[str] = []
    for token in TOKEN.finditer(text):
        word = token[0]
        if word == "{":
            inside |= level == 0 and words[-2:] == ["message", name]
            level += 1
        elif word == "}":
            level -= 1
            if level == 0 and inside:
                return head, token.start()
        elif word == ";" and level == 0 and words[:1] in (["syntax"], ["edition"], ["package"], ["import"]):
            head = token.end()
        if word in "{};":
            words = []
        elif not word.isspace() and not word.startswith(("//", "/*")):
            words.append(word)
    raise SchemaRefused(f"schema {name}: its text cannot be extended.", remedy="Register the new version yourself.")


def _fields(columns: list[pa.Field], first: int, path: str, level: int = 1) -> list[str]:
    """The lines of a message's fields, and of the messages inside it."""
    indent, lines, number = "  " * level, [], first
    for column in columns:
        where = f"{path}/{column.name}"
        if not NAME.fullmatch(column.name):
            raise _refused(where, "Protobuf has no such names: letters, digits and `_`.", "Rename it in a step.")
        number = RESERVED.stop if number in RESERVED else number
        own = type_name(column.name)
        inner = _struct(column.type)
        if inner is not None:
            lines += [f"{indent}message {own} {{", *_fields(list(inner), 1, where, level + 1), f"{indent}}}"]
        lines.append(f"{indent}{_type(column, own, where)} {column.name} = {number};")
        number += 1
    return lines


def _struct(kind: pa.DataType) -> pa.DataType | None:
    """The struct that the column holds, itself or as its elements."""
    if pa.types.is_map(kind):
        kind = kind.item_type
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return kind if pa.types.is_struct(kind) else None


def _type(column: pa.Field, own: str, path: str) -> str:
    kind = column.type
    if pa.types.is_map(kind) and pa.types.is_string(kind.key_type):
        return f"map<string, {_single(kind.item_type, own, path)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"repeated {_single(kind.value_type, own, path)}"
    one = _single(kind, own, path)
    return one if not column.nullable or pa.types.is_struct(kind) or one == TIMESTAMP else f"optional {one}"


def _single(kind: pa.DataType, own: str, path: str) -> str:
    if pa.types.is_struct(kind):
        return own
    found = next((name for test, name in SIMPLE if test(kind)), None)
    if found is None:
        remedy = "Make it a STRUCT, or a STRING, in a step."
        raise _refused(path, f"Protobuf has no type for {kind} here.", remedy)
    return found


def _refused(path: str, why: str, remedy: str) -> SchemaRefused:
    return SchemaRefused(f"column {path}: {why}", data="This sink wrote nothing.", remedy=remedy)
