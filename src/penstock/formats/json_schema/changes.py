"""How the row types of two JSON Schemas differ, and the row type in which the records of one are read for the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from penstock.formats.arrow_types import arrow_type
from penstock.formats.types import Field, Type
from penstock.schemas.contract import Change, Kind

AS_TEXT = ("TIMESTAMP", "DATE", "BINARY")
"""Texts of a form of their own: what is read into a STRING column stays the text it is."""


def row_changes(before: tuple[Field, ...], after: tuple[Field, ...], path: str = "") -> Iterator[Change]:
    """What the row type `before` would have to bear for records of `after`."""
    old, new = ({field.name: field for field in each} for each in (before, after))
    for name, field in new.items():
        where = f"{path}/{name}"
        if name not in old:
            yield Change("add", where, "", str(field.type))
            continue
        if field.nullable and not old[name].nullable:
            yield Change("incompatible", where, f"{old[name].type} NOT NULL", str(field.type))
            continue
        yield from _type_changes(old[name].type, field.type, where)
    for name, field in old.items():
        if name not in new:
            kind: Kind = "drop" if field.nullable else "incompatible"
            yield Change(kind, f"{path}/{name}", str(field.type), "")


def _type_changes(before: Type, after: Type, path: str) -> Iterator[Change]:
    if before.name == after.name == "STRUCT":
        yield from row_changes(before.fields, after.fields, path)
    elif before.name == after.name and before.element is not None and after.element is not None:
        yield from _type_changes(before.element, after.element, path)
    elif before == after or takes(before, after):
        return
    elif _wider(before, after):
        yield Change("widen", path, str(before), str(after))
    else:
        yield Change("incompatible", path, str(before), str(after))


def takes(reader: Type, writer: Type) -> bool:
    """Can every value of the writer's type be read as one of the reader's, as it stands in the JSON text?"""
    if reader.name == "STRING":
        return writer.name in AS_TEXT
    if reader.name == "DOUBLE":
        return writer.name in ("BIGINT", "DECIMAL")
    whole, parts = _digits(reader), _digits(writer)
    return reader.name == "DECIMAL" and parts is not None and whole is not None and _covers(whole, parts)


def _wider(before: Type, after: Type) -> bool:
    whole, parts = _digits(after), _digits(before)
    return after.name == "DECIMAL" and parts is not None and whole is not None and _covers(whole, parts)


def _digits(kind: Type) -> tuple[int, int] | None:
    """Digits before and behind the point."""
    return {"DECIMAL": (kind.precision - kind.scale, kind.scale), "BIGINT": (19, 0)}.get(kind.name)


def _covers(whole: tuple[int, int], parts: tuple[int, int]) -> bool:
    return whole[0] >= parts[0] and whole[1] >= parts[1]


def grown(before: tuple[Field, ...], after: tuple[Field, ...], taken: Sequence[Change]) -> tuple[Field, ...]:
    """The row type `before` with these changes of `after` in it. New fields may be null."""
    return _grown(before, after, {change.path for change in taken if change.kind in ("add", "widen")}, "")


def _grown(before: tuple[Field, ...], after: tuple[Field, ...], chosen: set[str], path: str) -> tuple[Field, ...]:
    new = {field.name: field for field in after}
    kept = [
        replace(field, type=_grown_type(field.type, new[field.name].type, chosen, f"{path}/{field.name}"))
        if field.name in new
        else field
        for field in before
    ]
    known = {field.name for field in before}
    added = [field for field in after if field.name not in known and f"{path}/{field.name}" in chosen]
    return (*kept, *(replace(field, nullable=True) for field in added))


def _grown_type(before: Type, after: Type, chosen: set[str], path: str) -> Type:
    if before.name == after.name == "STRUCT":
        return Type("STRUCT", fields=_grown(before.fields, after.fields, chosen, path))
    if before.name == after.name and before.element is not None and after.element is not None:
        return replace(before, element=_grown_type(before.element, after.element, chosen, path))
    return after if path in chosen else before


def read_as(writer: tuple[Field, ...], reader: tuple[Field, ...]) -> tuple[Field, ...]:
    """The writer's fields, those that the reader has with its types: so they are read out of the text."""
    wanted = {field.name: field.type for field in reader}
    return tuple(
        replace(field, type=_read_as(field.type, wanted[field.name])) if field.name in wanted else field
        for field in writer
    )


def _read_as(writer: Type, reader: Type) -> Type:
    if writer.name == reader.name == "STRUCT":
        return Type("STRUCT", fields=read_as(writer.fields, reader.fields))
    if writer.name == reader.name and writer.element is not None and reader.element is not None:
        return replace(writer, element=_read_as(writer.element, reader.element))
    return reader


def fitted(array: pa.Array, have: Type, want: Type) -> pa.Array:
    """The values of type `have` as ones of `want`: without what it has not, null where there is nothing."""
    if have == want:
        return array
    nulls = array.is_null() if array.null_count else None
    if want.name == "STRUCT":
        mine = {field.name: (field.type, child) for field, child in zip(have.fields, _children(array), strict=True)}
        columns = [
            fitted(mine[field.name][1], mine[field.name][0], field.type)
            if field.name in mine
            else pa.nulls(len(array), arrow_type(field.type))
            for field in want.fields
        ]
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(want)), mask=nulls)
    if want.element is None or have.element is None:
        return array.cast(arrow_type(want))
    offsets = pa.array(array.offsets.to_numpy())  # a copy: a sliced one is refused beside a mask
    if want.name == "ARRAY":
        inner = fitted(array.values, have.element, want.element)
        return pa.ListArray.from_arrays(offsets, inner, type=arrow_type(want), mask=nulls)
    inner = fitted(array.items, have.element, want.element)
    return pa.MapArray.from_arrays(offsets, array.keys, inner, type=arrow_type(want), mask=nulls)


def _children(array: pa.Array) -> list[pa.Array]:
    return [array.field(place) for place in range(array.type.num_fields)]
