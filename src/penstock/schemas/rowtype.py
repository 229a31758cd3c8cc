"""The row type of a pipeline: the columns of all its subjects, united by name; and how it grows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
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


def taking(row: Fields, before: Fields | None, after: Fields, ignored: Iterable[Change]) -> Fields:
    """The row type with what the policy takes of a subject whose columns were `before` and are `after`.

    Of one that joins (`before` is None) the ignored fields stay out. Of one that is known, so do those that it had
    before and that the row type lacks: they were ignored then, and another change does not bring them in.
    """
    now = {change.path for change in ignored if change.kind == "add"}
    return grown(row, _without(after, now if before is None else lacking(row, before)))


def lacking(row: Fields, subject: Fields) -> set[str]:
    """Where a subject has fields that the row type has not: they were ignored when they came."""
    return set(_paths(subject)) - set(_paths(row))


def joining(before: Fields, subject: Fields, at: str = "") -> Iterator[Change]:
    """What the row type would have to bear for a subject that joins, in the words of `Codec.changes`."""
    known = {field.name: field for field in before}
    spelled = {field.name.lower() for field in before}
    theirs = {field.name: field for field in subject}
    for name, field in theirs.items():
        if name in known:
            yield from _differing(known[name], field, f"{at}/{name}")
            continue
        clash = name.lower() in spelled
        words = "spelled like another column but for its case" if clash else str(field.type)
        yield Change("incompatible" if clash else "add", f"{at}/{name}", "", words)
    for name, field in known.items():
        if name not in theirs and not field.nullable:
            yield Change("incompatible", f"{at}/{name}", f"{field.type} NOT NULL", "not there")


def _differing(mine: Field, theirs: Field, at: str) -> Iterator[Change]:
    yield from _of_types(mine.type, theirs.type, at)
    if theirs.nullable and not mine.nullable:
        yield Change("widen", at, f"{mine.type} NOT NULL", str(mine.type))


def _of_types(mine: Type, theirs: Type, at: str) -> Iterator[Change]:
    if mine.name == theirs.name == "STRUCT":
        yield from joining(mine.fields, theirs.fields, at)
    elif mine.name == theirs.name and mine.element is not None and theirs.element is not None:
        yield from _of_types(mine.element, theirs.element, f"{at}/[]")
    elif (kind := common(mine, theirs)) is None:
        yield Change("incompatible", at, str(mine), f"it is {theirs} here")
    elif kind != mine:
        yield Change("widen", at, str(mine), str(kind))


def _paths(fields: Fields, at: str = "") -> Iterator[str]:
    """Where each field is, those of structs too; as `joining` names them."""
    for field in fields:
        yield f"{at}/{field.name}"
        inner, inside = field.type, f"{at}/{field.name}"
        while inner.element is not None:
            inner, inside = inner.element, f"{inside}/[]"
        yield from _paths(inner.fields, inside)


def _without(fields: Fields, paths: Collection[str], at: str = "") -> Fields:
    """These fields but for the ones at the paths."""
    kept = (field for field in fields if f"{at}/{field.name}" not in paths)
    return tuple(replace(field, type=_type_without(field.type, paths, f"{at}/{field.name}")) for field in kept)


def _type_without(kind: Type, paths: Collection[str], at: str) -> Type:
    if kind.element is not None:
        return replace(kind, element=_type_without(kind.element, paths, f"{at}/[]"))
    return replace(kind, fields=_without(kind.fields, paths, at)) if kind.fields else kind


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
