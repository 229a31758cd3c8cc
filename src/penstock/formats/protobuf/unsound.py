"""What is wrong with a message that Google's runtime refuses: it says only that something is. For people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.formats.protobuf.types import MESSAGE

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

TEXT, PACKED = 9, {1: 8, 2: 4, 6: 8, 7: 4, 15: 4, 16: 8}
VARINT, EIGHT, LENGTH, START, END, FOUR = range(6)
DEEP = 100
PLACE = re.compile(r"(?<=.)/[^/]*$")
"""The element in a pointer: what is unknown is counted by its field."""


class _Broken(Exception):
    """Where and why the bytes are no message."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


def reason(message: Descriptor, body: bytes) -> tuple[str | None, str]:
    """The field at fault and a sentence, of bytes that are no such message."""
    try:
        _walk(message, body, 0, len(body), "", 0)
    except _Broken as found:
        return found.path or None, found.why
    return None, f"The bytes are no message {message.full_name}."


def _walk(message: Descriptor, body: bytes, at: int, end: int, path: str, level: int) -> None:
    if level > DEEP:
        raise _Broken(path, "Messages are nested too deep in it.")
    while at < end:
        tag, start = _varint(body, at, end, path)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise _Broken(path, f"At byte {at} a field has the number {number}.")
        field = message.fields_by_number.get(number)
        where = f"{path}/{field.name if field else number}"
        at = _value(field, wire, body, start, end, where, level)


def _value(field: FieldDescriptor | None, wire: int, body: bytes, at: int, end: int, where: str, level: int) -> int:
    """Where the value that begins here ends."""
    if wire == VARINT:
        return _varint(body, at, end, where)[1]
    if wire in (EIGHT, FOUR):
        return _within(at + (8 if wire == EIGHT else 4), at, end, where)
    if wire != LENGTH:
        kinds = {START: "a group begins", END: "a group ends that did not begin"}
        if wire == START:
            raise _Broken(where, f"At byte {at} a group begins that is cut, or does not end.")
        raise _Broken(where, f"At byte {at} {kinds.get(wire, f'there is the wire type {wire}')}.")
    size, start = _varint(body, at, end, where)
    last = _within(start + size, start, end, where)
    if field is not None:
        _inside(field, body, start, last, where, level)
    return last


def _inside(field: FieldDescriptor, body: bytes, at: int, end: int, where: str, level: int) -> None:
    if field.type == MESSAGE:
        _walk(field.message_type, body, at, end, where, level + 1)
    elif field.type == TEXT:
        try:
            body[at:end].decode()
        except UnicodeDecodeError:
            raise _Broken(where, "The text is not UTF-8.") from None
    elif field.is_repeated and field.type in PACKED and (end - at) % PACKED[field.type]:
        raise _Broken(where, f"The packed numbers at byte {at} are cut.")


def _varint(body: bytes, at: int, end: int, where: str) -> tuple[int, int]:
    found = 0
    for shift, byte in enumerate(body[at : min(end, at + 10)]):
        found |= (byte & 127) << (7 * shift)
        if byte < 128:
            return found, at + shift + 1
    if end - at < 10:
        raise _Broken(where, f"It ends within the number at byte {at}.")
    raise _Broken(where, f"The number at byte {at} has more than 10 bytes.")


def _within(last: int, at: int, end: int, where: str) -> int:
    if last > end:
        raise _Broken(where, f"It is cut: at byte {at} it asks for {last - at:,} bytes, and has {max(0, end - at):,}.")
    return last


def missing(message: Any) -> str | None:
    """Pointer of the first required field that the message lacks. (upb's own search for it can crash the process.)"""
    for field in message.DESCRIPTOR.fields:
        if field.is_required and not message.HasField(field.name):
            return f"/{field.name}"
    for where, inner in _inner(message):
        found = missing(inner)
        if found is not None:
            return where + found
    return None


def _inner(message: Any) -> Iterator[tuple[str, Any]]:
    """The messages inside this one, with their pointers."""
    for field, value in message.ListFields():
        if field.type != MESSAGE:
            continue
        if not field.is_repeated:
            yield f"/{field.name}", value
        elif not field.message_type.GetOptions().map_entry:
            yield from ((f"/{field.name}/{place}", one) for place, one in enumerate(value))
        elif field.message_type.fields_by_name["value"].type == MESSAGE:
            yield from ((f"/{field.name}/{key}", one) for key, one in value.items())


def unknown_of(message: Any, path: str = "") -> Iterator[str]:
    """Pointers of what the message holds that its schema does not name: numbers, below the names around them."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    for each in UnknownFieldSet(message):
        yield f"{path}/{each.field_number}"
    for where, inner in _inner(message):
        yield from unknown_of(inner, path + PLACE.sub("", where))
