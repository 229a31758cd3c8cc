"""Messages in their usual form, all of a batch at once, without a call for each.

Usual is what every runtime writes: fields by ascending number, each at most once and of its own wire type, one of a
oneof, nothing that the schema does not name. Every other message is odd, sound or not: Google's runtime decides on it
(columns.py). So what is read here is beyond doubt, and the finer rules of Protobuf are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.formats.cursor import Cursor
from penstock.formats.protobuf.indexes import varint
from penstock.formats.protobuf.values import KINDS, Inner, Number, Reading, Span
from penstock.rows import Mask

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor
    from google.protobuf.descriptor_pb2 import DescriptorProto

    from penstock.formats.protobuf.shadow import Shadow

STRING, MESSAGE, BYTES, ENUM = 9, 11, 12, 14
VARINT, LENGTH = 0, 2
WIRE = {1: 1, 2: 5, 6: 1, 7: 5, 9: LENGTH, 11: LENGTH, 12: LENGTH, 15: 5, 16: 1}
"""Type of a field -> its wire type, where it is no varint."""
MOST_LEVELS = 20


@dataclass(frozen=True)
class Part:
    """One field of a message."""

    source: str
    """Its name in the shadow; empty where nobody wants it: it is passed over."""
    tag: bytes
    oneof: str
    reading: Reading


@dataclass(frozen=True)
class Wire:
    """How messages of one type lie in their bytes."""

    parts: tuple[Part, ...]

    def columns(self, at: Cursor) -> dict[str, pa.Array]:
        """The values of the wanted fields, by their names in the shadow. What is not usual is marked as odd."""
        found: dict[str, pa.Array] = {}
        chosen: dict[str, Mask] = {}
        for part in self.parts:
            has = at.sees(part.tag)
            if part.oneof:
                before = chosen.get(part.oneof)
                if before is not None:
                    at.mark(has & before)
                chosen[part.oneof] = has if before is None else has | before
            array = part.reading.read(at, len(part.tag), None if has.all() else has)
            if part.source:
                found[part.source] = array
        at.mark(at.at != at.end)
        return found


def wire_of(message: Descriptor, shadow: Shadow, wanted: DescriptorProto | None, level: int = 0) -> Wire | None:
    """How these messages are read into the columns of `wanted`, their shadow. None where they hold what is not read
    so: lists, maps, what is required, JSON."""
    if level > MOST_LEVELS or not message.fields or message.GetOptions().message_set_wire_format:
        return None
    names = {field.number: field for field in wanted.field} if wanted is not None else {}
    parts = []
    for field in sorted(message.fields, key=lambda each: each.number):
        reading = _reading(field, shadow, names.get(field.number), level)
        if reading is None:
            return None
        source = str(names[field.number].name) if field.number in names else ""
        tag = varint(field.number << 3 | WIRE.get(field.type, VARINT))
        parts.append(Part(source, tag, _oneof(field), reading))
    return Wire(tuple(parts))


def _reading(field: FieldDescriptor, shadow: Shadow, wanted: Any, level: int) -> Reading | None:
    presence = bool(field.has_presence)
    if field.is_repeated or field.is_required:
        return None
    if field.type == MESSAGE:
        if wanted is not None and wanted.type != MESSAGE:
            return None
        inner = wire_of(field.message_type, shadow, shadow.named(wanted.type_name) if wanted else None, level + 1)
        return None if inner is None else Inner(inner.columns, wanted is not None)
    if field.type in (STRING, BYTES):
        return Span(presence, text=field.type == STRING)
    if field.type not in KINDS:
        return None
    closed = field.type == ENUM and field.enum_type.is_closed
    return Number(KINDS[field.type], presence, tuple(each.number for each in field.enum_type.values) if closed else ())


def _oneof(field: FieldDescriptor) -> str:
    """The oneof that the field shares with others."""
    oneof = field.containing_oneof
    return str(oneof.name) if oneof is not None and len(oneof.fields) > 1 else ""
