"""How one Protobuf schema differs from another. Fields are the same if their number is: a name may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from penstock.formats.protobuf.types import DURATION, JSON_TEXT, MESSAGE, WRAPPERS, is_map, type_of
from penstock.formats.types import Type
from penstock.schemas.contract import Change, Kind

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

WIDER = {("INT", "BIGINT"), ("INT", "DECIMAL(20,0)"), ("BIGINT", "DECIMAL(20,0)"), ("FLOAT", "DOUBLE")}


def message_changes(before: Descriptor, after: Descriptor, path: str = "") -> Iterator[Change]:
    """What rows of `before` would have to bear for messages of `after`; then what those do not have any more."""
    old = {field.number: field for field in before.fields}
    names = {field.name: field for field in before.fields}
    for field in after.fields:
        where = f"{path}/{field.name}"
        if field.number in old:
            yield from _field(old[field.number], field, path)
        elif field.name in names:
            number = names[field.name].number
            yield Change("incompatible", where, f"number {number}", f"number {field.number}")
        else:
            yield Change("add", where, "", str(type_of(field)))
    kept = {field.number for field in after.fields} | {names[f.name].number for f in after.fields if f.name in names}
    for field in before.fields:
        if field.number not in kept:
            kind = "incompatible" if field.is_required else "drop"
            yield Change(cast(Kind, kind), f"{path}/{field.name}", str(type_of(field)), "")


def _field(before: FieldDescriptor, after: FieldDescriptor, path: str) -> Iterator[Change]:
    where = f"{path}/{before.name}"
    if before.name != after.name:
        yield Change("rename", where, before.name, after.name)
    old, new = type_of(before), type_of(after)
    if before.is_required and not after.is_required:
        yield Change("incompatible", where, f"{old} NOT NULL", str(new))
    elif before.is_repeated != after.is_repeated or is_map(before) != is_map(after):
        yield Change("incompatible", where, str(old), str(new))
    elif is_map(before):
        first, second = (each.message_type.fields_by_name["value"] for each in (before, after))
        yield from _values(first, second, where, old, new)
    else:
        yield from _values(before, after, where, old, new)


def _values(before: FieldDescriptor, after: FieldDescriptor, where: str, old: Type, new: Type) -> Iterator[Change]:
    """Differences between what the values are; the column's types are `old` and `new`."""
    one, other = _inner(old), _inner(new)
    if one.name == other.name == "STRUCT" and before.type == after.type == MESSAGE:
        yield from message_changes(before.message_type, after.message_type, where)
    elif one == other:
        if not _same_meaning(before, after):
            yield Change("incompatible", where, _word(before), _word(after))
    elif (str(one), str(other)) in WIDER:
        yield Change("widen", where, str(old), str(new))
    elif (str(other), str(one)) not in WIDER:  # what is narrower than its column is read as it is
        yield Change("incompatible", where, str(old), str(new))


def _inner(kind: Type) -> Type:
    return kind.element if kind.element is not None else kind


def _same_meaning(before: FieldDescriptor, after: FieldDescriptor) -> bool:
    """Do these say the same of a row? `sint32` after `int32` does, and a wrapper after its value: each record is read
    by its own schema. A text that held JSON is not one that holds a name."""
    return _sort(before) == _sort(after)


def _sort(field: FieldDescriptor) -> str:
    """What the values are, where their type does not tell: JSON, a length of time, a message without fields."""
    if field.type != MESSAGE or field.message_type.full_name in WRAPPERS:
        return ""
    name = str(field.message_type.full_name)
    return name if name in (*JSON_TEXT, DURATION) or field.message_type.fields else "a message without fields"


def _word(field: FieldDescriptor) -> str:
    return _sort(field) or str(type_of(field))
