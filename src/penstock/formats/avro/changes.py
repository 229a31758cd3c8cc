"""What a change of an Avro schema means for the columns, and the reader's schema that has taken it in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.errors import SchemaRefused
from penstock.formats.avro.resolve import Unfit, matching, plan, spoken
from penstock.formats.avro.schema import NULL, AvroField, Node, parsed, to_body
from penstock.formats.avro.types import is_member_struct, type_of
from penstock.formats.types import Type
from penstock.schemas.contract import Change, Schema

Wanted = set[tuple[str, str]]
"""Kind and path of the changes that are to be taken."""
WIDER = {("int", "long"), ("int", "double"), ("float", "double")}
"""Types of a column -> those that Delta can widen it to."""


def changes(reader: Node, after: Schema) -> list[Change]:
    """What the row type of `reader` would have to bear for records written with `after`."""
    try:
        writer = parsed(after)
    except SchemaRefused as error:
        return [Change("incompatible", "", "", error.what)]
    return list(_record(reader, writer, ""))


def _record(reader: Node, writer: Node, path: str) -> Iterator[Change]:
    found: set[str] = set()
    for field in reader.fields:
        other = matching(field.name, field, writer)
        if other is None:
            yield from _gone(field, f"{path}/{field.name}")
            continue
        found.add(other.name)
        if other.name != field.name and other.name not in field.aliases:
            yield Change("rename", f"{path}/{field.name}", field.name, other.name)
        yield from _type(field.type, other.type, f"{path}/{field.name}")
    taken = {field.name.lower() for field in reader.fields}
    for each in writer.fields:
        if each.name not in found:
            yield from _new(each, f"{path}/{each.name}", taken, top=not path)


def _gone(field: AvroField, path: str) -> Iterator[Change]:
    kind = type_of(field.type)
    if kind is None:
        return
    if field.type.nullable or field.default is not None:
        yield Change("drop", path, str(kind))
    else:
        yield Change("incompatible", path, f"{kind} NOT NULL", "gone, and without a default")


def _new(field: AvroField, path: str, taken: set[str], *, top: bool) -> Iterator[Change]:
    kind = type_of(field.type)
    if kind is None:
        return
    if field.name.lower() in taken:
        yield Change("incompatible", path, "", "spelled like another column but for its case")
    elif top and field.name.startswith("_"):
        yield Change("incompatible", path, "", "names that begin with `_` are penstock's own")
    else:
        yield Change("add", path, "", str(kind))


def _type(reader: Node, writer: Node, path: str) -> Iterator[Change]:
    """A field that both have: its type, and whether it may be null."""
    kind = type_of(reader)
    if kind is None:
        if type_of(writer) is not None:
            yield Change("add", path, "", str(type_of(writer)))
        return
    if writer.nullable and not reader.nullable:
        yield Change("widen", path, f"{kind} NOT NULL", str(kind))
    if not writer.values:
        return
    yield from _values(reader, writer, kind, path)


def _values(reader: Node, writer: Node, kind: Type, path: str) -> Iterator[Change]:
    mine, theirs = reader.values, writer.values
    if len(mine) == len(theirs) == 1:
        yield from _single(mine[0], theirs[0], kind, path)
        return
    for branch in theirs:
        try:
            plan(branch, kind, reader, path)
        except Unfit as unfit:
            yield Change("incompatible", path, str(kind), unfit.why)
            return
    if is_member_struct(reader) != is_member_struct(writer) and len(theirs) > 1:
        yield Change("incompatible", path, str(kind), spoken(writer))


def _single(reader: Node, writer: Node, kind: Type, path: str) -> Iterator[Change]:
    if reader.kind == writer.kind == "record":
        yield from _record(reader, writer, path)
        return
    if reader.kind == writer.kind and reader.kind in ("array", "map"):
        inner, other = reader.inner[0], writer.inner[0]
        for change in _type(inner, other, path):
            if change.kind != "widen" or not change.before.endswith("NOT NULL"):  # what is inside may always be null
                yield change
        return
    try:
        plan(writer, kind, reader, path)
    except Unfit as unfit:
        wider = _wider(reader, writer)
        told = str(type_of(writer)) if wider else unfit.why
        yield Change("widen" if wider else "incompatible", path, str(kind), told)


def _wider(reader: Node, writer: Node) -> bool:
    if reader.logical == writer.logical == "decimal":
        return reader.scale == writer.scale and writer.precision > reader.precision
    return not reader.logical and not writer.logical and (reader.kind, writer.kind) in WIDER


def evolved(before: Schema, after: Schema, taken: Sequence[Change]) -> Schema:
    """The reader's schema with these changes of `after` in it."""
    wanted: Wanted = {(change.kind, change.path) for change in taken}
    node = _grown(parsed(before), parsed(after), "", wanted)
    return Schema(after.id, "avro", json.dumps(to_body(node)))


def _grown(reader: Node, writer: Node, path: str, wanted: Wanted) -> Node:
    fields = []
    found: set[str] = set()
    for field in reader.fields:
        other = matching(field.name, field, writer)
        if other is None:
            fields.append(field)
            continue
        found.add(other.name)
        fields.append(_field(field, other, f"{path}/{field.name}", wanted))
    new = [each for each in writer.fields if each.name not in found and ("add", f"{path}/{each.name}") in wanted]
    return replace(reader, fields=(*fields, *(_nullable(each) for each in new)))


def _field(field: AvroField, other: AvroField, path: str, wanted: Wanted) -> AvroField:
    if ("rename", path) in wanted:
        field = replace(field, aliases=(*field.aliases, other.name))
    if ("add", path) in wanted and type_of(field.type) is None:
        return replace(field, type=_nullable(other).type)
    return replace(field, type=_type_grown(field.type, other.type, path, wanted))


def _type_grown(reader: Node, writer: Node, path: str, wanted: Wanted) -> Node:
    mine, theirs = reader.values, writer.values
    made = reader
    if len(mine) == len(theirs) == 1:
        inner = _inner_grown(mine[0], theirs[0], path, wanted)
        branches = tuple(inner if branch is mine[0] else branch for branch in reader.branches)
        made = replace(reader, inner=branches) if reader.kind == "union" else inner
    if ("widen", path) in wanted and writer.nullable and not made.nullable:
        made = Node("union", inner=(made, NULL))
    return made


def _inner_grown(reader: Node, writer: Node, path: str, wanted: Wanted) -> Node:
    if reader.kind == writer.kind == "record":
        return _grown(reader, writer, path, wanted)
    if reader.kind == writer.kind and reader.kind in ("array", "map"):
        return replace(reader, inner=(_type_grown(reader.inner[0], writer.inner[0], path, wanted),))
    return writer if ("widen", path) in wanted and _wider(reader, writer) else reader


def _nullable(field: AvroField) -> AvroField:
    """A new field: rows that were there before have no value of it."""
    if field.type.nullable:
        return field if field.default is not None else replace(field, default="null")
    default = "null" if field.default is None else field.default
    values = field.type.branches
    branches = (NULL, *values) if default == "null" else (*values, NULL)
    return replace(field, type=Node("union", inner=branches), default=default)
