"""The row type of a pipeline: the columns of all its subjects, united by name; and how it grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.errors import SchemaRefused
from penstock.formats.types import Field, Type
from penstock.schemas.contract import Change

Fields = tuple[Field, ...]
WIDER = {("INT", "BIGINT"), ("INT", "DOUBLE"), ("FLOAT", "DOUBLE"), ("TINYINT", "SMALLINT"), ("SMALLINT", "INT")}


def united(subjects: Mapping[str, Fields]) -> Fields:
    """One row type for all of these. A column that one of them lacks may be null. Raises SchemaRefused at a clash."""
    made: dict[str, Field] = {}
    whose: dict[str, str] = {}
    for subject, fields in subjects.items():
        for field in fields:
            before = made.get(field.name)
            if before is None:
                _spelled_once(field.name, made, whose, subject)
                made[field.name], whose[field.name] = field, subject
                continue
            kind = common(before.type, field.type)
            if kind is None:
                raise _clash(field.name, whose[field.name], before.type, subject, field.type)
            made[field.name] = replace(before, type=kind, nullable=before.nullable or field.nullable)
    counts = {name: sum(any(f.name == name for f in fields) for fields in subjects.values()) for name in made}
    return tuple(
        field if counts[name] == len(subjects) else replace(field, nullable=True) for name, field in made.items()
    )


def common(one: Type, other: Type) -> Type | None:
    """The type that holds the values of both unchanged, if there is one."""
    if one == other:
        return one
    if one.name == other.name == "STRUCT":
        return _struct(one, other)
    if one.name == other.name and one.element is not None and other.element is not None:
        element = common(one.element, other.element)
        return None if element is None else replace(one, element=element)
    if one.name == other.name == "DECIMAL" and one.scale == other.scale:
        return one if one.precision >= other.precision else other
    for narrow, wide in ((one, other), (other, one)):
        if (narrow.name, wide.name) in WIDER:
            return wide
    return None


def _struct(one: Type, other: Type) -> Type | None:
    theirs = {field.name: field for field in other.fields}
    mine = {field.name for field in one.fields}
    fields = []
    for field in one.fields:
        match = theirs.get(field.name)
        kind = field.type if match is None else common(field.type, match.type)
        if kind is None:
            return None
        fields.append(replace(field, type=kind, nullable=field.nullable or match is None or match.nullable))
    new = [replace(field, nullable=True) for field in other.fields if field.name not in mine]
    return replace(one, fields=(*fields, *new))


def grown(before: Fields, subject: Fields) -> Fields:
    """The row type with what this subject's has beside it. New columns may be null: older rows have no value.

    Columns stay where they are; what the row type says of null stays true of rows that were written already.
    """
    theirs = {field.name: field for field in subject}
    kept = []
    for field in before:
        match = theirs.get(field.name)
        kind = None if match is None else common(field.type, match.type)
        nullable = field.nullable or (match is not None and match.nullable)
        kept.append(field if kind is None else replace(field, type=kind, nullable=nullable))
    known = {field.name for field in before}
    return (*kept, *(replace(field, nullable=True) for field in subject if field.name not in known))


def joining(before: Fields, subject: Fields) -> Iterator[Change]:
    """What the row type would have to bear for a subject that joins, in the words of `Codec.changes`."""
    known = {field.name: field for field in before}
    spelled = {field.name.lower() for field in before}
    theirs = {field.name: field for field in subject}
    for name, field in theirs.items():
        if name not in known:
            clash = name.lower() in spelled
            words = "spelled like another column but for its case" if clash else str(field.type)
            yield Change("incompatible" if clash else "add", f"/{name}", "", words)
            continue
        kind, mine = common(known[name].type, field.type), known[name].type
        if kind is None:
            yield Change("incompatible", f"/{name}", str(mine), f"it is {field.type} here")
        elif kind != mine:
            nested = mine.name in ("STRUCT", "ARRAY", "MAP")
            yield Change("add" if nested else "widen", f"/{name}", str(mine), str(kind))
        if field.nullable and not known[name].nullable:
            yield Change("widen", f"/{name}", f"{mine} NOT NULL", str(mine))
    for name, field in known.items():
        if name not in theirs and not field.nullable:
            yield Change("incompatible", f"/{name}", f"{field.type} NOT NULL", "not there")


def _spelled_once(name: str, made: Mapping[str, Field], whose: Mapping[str, str], subject: str) -> None:
    for other in made:
        if other.lower() == name.lower():
            raise SchemaRefused(
                f"subject {subject} has a field `{name}` and subject {whose[other]} a field `{other}`: to a table they "
                "are one name.",
                data="Nothing was written.",
                remedy="Read these topics with a pipeline each.",
            )


def _clash(name: str, one: str, first: Type, other: str, second: Type) -> SchemaRefused:
    return SchemaRefused(
        f"the topics do not agree on the column `{name}`: it is {first} in subject {one} and {second} in {other}.",
        data="Nothing was written.",
        remedy="Read these topics with a pipeline each.",
    )
