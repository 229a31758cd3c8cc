"""The inference: JSON objects in, a proposal for each field with its evidence out. Pure functions.

A field gets a type only if that type takes at least nine of ten of its values; NOT NULL only if it was there, and not
null, in every one of at least 50. What no type takes is left out, and says so: the decoder counts unknown fields and
goes on, while a wrong type would reject records.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.authoring.evidence import Evidence, Path, Shape, kept
from penstock.authoring.hints import is_secret
from penstock.authoring.scalars import TOLERATED, UUID, boolean_shape, number_shape, text_shape
from penstock.authoring.values import fits, kind_of
from penstock.authoring.words import share
from penstock.counting import counted
from penstock.formats.types import Type
from penstock.rules import FORBIDDEN

ENOUGH_RECORDS = 50
"""Records from which on "always there" counts as evidence for NOT NULL."""
DEEPEST = 16
"""Levels of nesting that are described."""
MOST_FIELDS = 1000
"""Fields of one object that are described, the most frequent first."""
LONGEST_NAME = 255
MANY_KEYS = 20
"""Distinct names from which on an object may be a map."""
ID_LIKE = re.compile(r"[0-9]+|[0-9a-fA-F]{8,}|\w{1,12}[-_:.]?[0-9][\w:.-]*|[\w.+-]+@[\w.-]+|[0-9]{4}-[0-9]{2}.*")


def infer(objects: Sequence[Mapping[str, Any]], path: Path = (), most: int = MOST_FIELDS) -> tuple[Evidence, ...]:
    """A proposal for every field of these objects, in the order in which they were first seen."""
    columns: dict[str, list[Any]] = {}
    for each in objects:
        for name, value in each.items():
            columns.setdefault(name, []).append(value)
    fields = [_field(name, values, len(objects), (*path, name), most) for name, values in columns.items()]
    return tuple(_at_most(_one_of_each_case(fields), most))


def _field(name: str, values: list[Any], of: int, path: Path, most: int) -> Evidence:
    kinds = Counter(map(kind_of, values))
    nulls = kinds["null"]
    shape = _without_secrets(path, shape_of(name, [value for value in values if value is not None], path, most))
    if why := _unusable(name):
        shape = Shape(None, why)
    required = len(values) == of >= ENOUGH_RECORDS and not nulls
    return Evidence(name, path, of, len(values), nulls, {kind: n for kind, n in kinds.items() if n}, shape, required)


def shape_of(name: str, values: Sequence[Any], path: Path, most: int) -> Shape:
    """The type that takes most of these values, none of them null; or why there is none."""
    groups: dict[str, list[Any]] = {}
    for value in values:
        groups.setdefault(kind_of(value), []).append(value)
    if not groups:
        return Shape(None, "always null, so nothing says what it is")
    if set(groups) == {"number", "text"} and _are_numbers(groups["text"]):
        groups = {"number": list(values)}
    kind, chosen = max(groups.items(), key=lambda group: len(group[1]))
    others = len(values) - len(chosen)
    mixed = ", ".join(f"{kind} {share(len(group), len(values))}" for kind, group in groups.items())
    if others > TOLERATED * len(values):
        return Shape(None, f"{mixed}: no type takes them all")
    shape = _shape_of_kind(kind, name, chosen, path, most)
    if not others or shape.type is None:
        return shape
    told = shape.noting(f"{mixed}: only the {kind} values are taken")
    return Shape(**{**vars(told), "misfits": shape.misfits + others})


def _shape_of_kind(kind: str, name: str, values: list[Any], path: Path, most: int) -> Shape:
    match kind:
        case "boolean":
            return boolean_shape(values)
        case "number":
            return number_shape(name, values)
        case "text":
            return text_shape(name, values)
    if len(path) >= DEEPEST:
        return Shape(None, f"more than {DEEPEST} levels deep")
    return _object_shape(values, path, most) if kind == "object" else _array_shape(name, values, path, most)


def _are_numbers(texts: Iterable[str]) -> bool:
    """Numbers in quotes, none with idle zeros in front: `007` is a text."""
    return all(fits(text, Type("DECIMAL", 38, 18)) and not re.match(r"[+-]?0[0-9]", text) for text in texts)


def _array_shape(name: str, arrays: list[list[Any]], path: Path, most: int) -> Shape:
    elements = [element for array in arrays for element in array if element is not None]
    if not elements:
        return Shape(None, "always an empty array, so nothing says what is in it")
    inner = shape_of(name, elements, (*path, "*"), most)
    if inner.type is None:
        return Shape(None, f"an array of elements that have no type: {inner.why}")
    sizes = sorted(map(len, arrays))
    note = f"{sizes[0]} to {counted(sizes[-1], 'element')}" if sizes[0] != sizes[-1] else counted(sizes[0], "element")
    return Shape(**{**vars(inner), "type": Type("ARRAY", element=inner.type), "notes": (note, *inner.notes)})


def _object_shape(objects: list[dict[str, Any]], path: Path, most: int) -> Shape:
    names = {name for each in objects for name in each}
    if not names:
        return Shape(None, "always an empty object, so nothing says what is in it")
    if _is_map(objects, names):
        return _map_shape(objects, len(names), path, most)
    fields = infer(objects, path, most)
    proposed = tuple(each.field() for each in kept(fields))
    if not proposed:
        return Shape(None, "an object in which no field has a type", children=fields)
    return Shape(Type("STRUCT", fields=proposed), children=fields)


def _is_map(objects: list[dict[str, Any]], names: set[str]) -> bool:
    """Many names that look like ids, or so many that each is rare: the names are data."""
    if len(names) < MANY_KEYS:
        return False
    filled = sum(map(len, objects)) / (len(names) * len(objects))
    like_ids = sum(bool(ID_LIKE.fullmatch(name) or UUID.fullmatch(name)) for name in names) / len(names)
    return (like_ids >= 0.8 and (filled < 0.5 or len(objects) < 5)) or (filled < 0.05 and len(objects) >= MANY_KEYS)


def _map_shape(objects: list[dict[str, Any]], names: int, path: Path, most: int) -> Shape:
    values = [value for each in objects for value in each.values() if value is not None]
    inner = shape_of("", values, (*path, "*"), most)
    if inner.type is None:
        return Shape(None, f"{counted(names, 'distinct name')} that look like ids; as values of a map: {inner.why}")
    note = f"{counted(names, 'distinct name')}: a map, the names are data"
    return Shape(**{**vars(inner), "type": Type("MAP", element=inner.type), "notes": (note, *inner.notes)})


def _without_secrets(path: Path, shape: Shape) -> Shape:
    """Values of a field that is named like a secret, or lies inside one that is, are not shown."""
    if not any(map(is_secret, path)) or shape.children:
        return shape
    hidden = {"low": "", "high": "", "examples": (), "counts": {}, "notes": ("values not shown",)}
    return Shape(**{**vars(shape), **hidden})


def _unusable(name: str) -> str:
    """Why neither the schema nor a table can take this name."""
    if not name:
        return "its name is empty"
    if name.startswith("_"):
        return "names that begin with `_` are penstock's"
    if set(name) & set(FORBIDDEN):
        return "a Delta table takes no name with a space or one of ,;{}()= in it"
    if not name.isprintable():
        return "its name holds characters that cannot be printed"
    return f"its name is longer than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else ""


def _one_of_each_case(fields: list[Evidence]) -> list[Evidence]:
    """Tables take `Id` and `id` as one: the one seen more often stays."""
    best: dict[str, Evidence] = {}
    for each in sorted(fields, key=lambda each: -each.present):
        if each.type is not None:
            best.setdefault(each.name.lower(), each)
    return [
        each
        if each.type is None or best[each.name.lower()] is each
        else each.left_out(f"differs only in case from `{best[each.name.lower()].name}`; a table takes them as one")
        for each in fields
    ]


def _at_most(fields: list[Evidence], most: int) -> list[Evidence]:
    """The most frequent ones; a file has to stay readable."""
    frequent = {id(each) for each in sorted(kept(tuple(fields)), key=lambda each: -each.present)[:most]}
    why = f"one of more than {most:,} fields"
    return [each if each.type is None or id(each) in frequent else each.left_out(why) for each in fields]
