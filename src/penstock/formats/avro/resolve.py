"""A writer's schema against the row type: compiled once, into operations that read one into the other.

What Avro calls resolution: fields are found by name or alias, those that the row does not have are skipped, those that
the writer does not have get the reader's default or null, numbers are widened, unions are taken apart.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.formats.arrow_types import arrow_field, arrow_type
from penstock.formats.avro.blocks import Array, Map
from penstock.formats.avro.nested import Member, Misfit, Nothing, Record, Union
from penstock.formats.avro.numbers import Boolean, Date, Digits, Floating, Time, Whole
from penstock.formats.avro.ops import Constant, Op
from penstock.formats.avro.schema import AvroField, Node
from penstock.formats.avro.spans import Span, Symbols, Uuid
from penstock.formats.avro.types import PLAIN, is_member_struct
from penstock.formats.types import Field, Type

MILLIS = {"timestamp-millis", "local-timestamp-millis"}
MICROS = {"timestamp-micros", "local-timestamp-micros"}
IN_JSON: dict[str, type | tuple[type, ...]] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": (int, float),
    "double": (int, float),
    "bytes": str,
    "string": str,
    "enum": str,
    "fixed": str,
    "record": dict,
    "map": dict,
    "array": list,
}
"""What the default of a type is in JSON."""


class Unfit(Exception):
    """The row type cannot hold what is written with this schema."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(why)
        self.path, self.why = path, why


def compiled(writer: Node, fields: Sequence[Field], reader: Node) -> Record:
    """How records of `writer` are read into these columns, as `reader` names them. Raises Unfit."""
    return _record(writer, tuple(fields), reader, "")


def plan(writer: Node, target: Type, reader: Node | None, path: str) -> Op:
    """How a value of the writer's type is read as one of `target`. Raises Unfit."""
    if writer.kind == "union":
        return _union(writer, target, reader, path)
    if reader is not None and is_member_struct(reader):
        return _member(writer, target, reader, path)
    if writer.kind == "null":
        return Nothing(arrow_type(target))
    values = reader.values if reader is not None else ()
    made = _simple(writer, target) or _nested(writer, target, values[0] if len(values) == 1 else None, path)
    if made is None:
        raise Unfit(path, f"{spoken(writer)} does not become {target}")
    return made


WHOLE = {("INT", "int"), *((target, kind) for target in ("BIGINT", "FLOAT", "DOUBLE") for kind in ("int", "long"))}
FLOATING = {("FLOAT", "float"), ("DOUBLE", "float"), ("DOUBLE", "double")}
"""Types of the row's and of the writer's: which numbers become which."""


def _simple(writer: Node, target: Type) -> Op | None:
    arrow, pair = arrow_type(target), (target.name, writer.kind)
    made: Op | None = None
    if pair in WHOLE:
        made = Whole(arrow, long=writer.kind == "long")
    elif pair in FLOATING:
        made = Floating(arrow, double=writer.kind == "double")
    elif pair == ("BOOLEAN", "boolean"):
        made = Boolean()
    elif target.name == "DATE" and writer.logical == "date":
        made = Date()
    elif target.name == "TIMESTAMP" and writer.logical in MILLIS | MICROS:
        made = Time(1000 if writer.logical in MILLIS else 1)
    return made or _bytes(writer, target, arrow)


def _bytes(writer: Node, target: Type, arrow: pa.DataType) -> Op | None:
    size = writer.size if writer.kind == "fixed" else None
    match target.name, writer.kind:
        case "STRING", "fixed" if writer.logical == "uuid":
            return Uuid()
        case "STRING", "enum":
            return Symbols(writer.symbols)
        case "STRING" | "BINARY", "string" | "bytes" if writer.logical != "decimal":
            return Span(arrow)
        case "BINARY", "fixed" if writer.logical != "decimal":
            return Span(arrow, size)
        case "DECIMAL", "bytes" | "fixed" if writer.logical == "decimal":
            fits = writer.scale == target.scale and writer.precision <= target.precision
            return Digits(arrow, size, writer.scale) if fits else None
    return None


def _nested(writer: Node, target: Type, reader: Node | None, path: str) -> Op | None:
    match target.name, writer.kind:
        case "STRUCT", "record":
            return _record(writer, target.fields, reader, path)
        case "ARRAY" | "MAP", "array" | "map" if target.name.lower() == writer.kind and target.element is not None:
            inner = reader.inner[0] if reader is not None and reader.kind == writer.kind else None
            item = plan(writer.inner[0], target.element, inner, path)
            return (Array if writer.kind == "array" else Map)(arrow_type(target), item)
    return None


def _record(writer: Node, fields: tuple[Field, ...], reader: Node | None, path: str) -> Record:
    mine = {field.name: field for field in reader.fields} if reader is not None and reader.kind == "record" else {}
    sources: dict[str, tuple[int, Field]] = {}
    given: dict[int, Op] = {}
    for place, field in enumerate(fields):
        known = mine.get(field.name)
        found = matching(field.name, known, writer) if known is not None or reader is None else None
        if found is None:
            given[place] = _missing(field, known, f"{path}/{field.name}")
        else:
            sources[found.name] = (place, field)
    parts: list[tuple[str, Op, int | None]] = []
    for each in writer.fields:
        if each.name in sources:
            place, field = sources[each.name]
            known = mine.get(field.name)
            op = plan(each.type, field.type, known.type if known else None, f"{path}/{field.name}")
            parts.append((each.name, op, place))
        else:
            parts.append((each.name, skipping(each.type), None))
    arrow = pa.struct([arrow_field(field) for field in fields])
    return Record(arrow, parts, given)


def matching(name: str, known: AvroField | None, writer: Node) -> AvroField | None:
    """The writer's field for this one of the row's: of the same name, or told by an alias of either side."""
    names = [name, *(known.aliases if known else ())]
    by_name = {field.name: field for field in writer.fields}
    for each in names:
        if each in by_name:
            return by_name[each]
    return next((field for field in writer.fields if set(field.aliases) & set(names)), None)


def _missing(field: Field, known: AvroField | None, path: str) -> Op:
    """What a field gets that the writer does not have."""
    arrow = arrow_type(field.type)
    if known is None:
        return Constant(arrow, None)  # another subject's column
    if known.default is not None:
        return Constant(arrow, default_of(known, field.type))
    if known.type.nullable or field.nullable:
        return Constant(arrow, None)
    raise Unfit(path, "the writer does not have it, it may not be null, and there is no default")


def _union(writer: Node, target: Type, reader: Node | None, path: str) -> Op:
    arrow = arrow_type(target)
    branches: list[Op] = []
    for branch in writer.inner:
        try:
            branches.append(plan(branch, target, reader, path))
        except Unfit as unfit:
            branches.append(Misfit(arrow, unfit.why))
    if all(isinstance(branch, Misfit | Nothing) for branch in branches) and writer.values:
        raise Unfit(path, f"no branch of {spoken(writer)} becomes {target}")
    return Union(arrow, branches)


def _member(writer: Node, target: Type, reader: Node, path: str) -> Op:
    """A value for a union of the reader's whose branches are the fields of a struct."""
    arrow = arrow_type(target)
    if writer.kind == "null":
        return Nothing(arrow)
    values = reader.values
    ranked = sorted(range(len(values)), key=lambda number: not _same(writer, values[number]))
    for number in ranked:
        place = next((at for at, field in enumerate(target.fields) if field.name == f"member{number}"), None)
        if place is None:
            continue
        try:
            inner = plan(writer, target.fields[place].type, values[number], path)
        except Unfit:
            continue
        return Member(arrow, place, inner)
    raise Unfit(path, f"{spoken(writer)} is no branch of {spoken(reader)}")


def _same(writer: Node, reader: Node) -> bool:
    """Are these the same branch of a union?"""
    names = [node.name.rpartition(".")[2] for node in (writer, reader)]
    return (writer.kind, writer.logical, names[0]) == (reader.kind, reader.logical, names[1])


def skipping(node: Node) -> Op:
    """How a value is read that nobody wants."""
    inner = [skipping(each) for each in node.inner]
    match node.kind:
        case "union":
            made: Op | None = Union(pa.null(), inner)
        case "null":
            made = Nothing(pa.null())
        case "record":
            made = Record(pa.struct([]), [(field.name, skipping(field.type), None) for field in node.fields], {})
        case "array":
            made = Array(pa.list_(pa.null()), inner[0])
        case "map":
            made = Map(pa.map_(pa.string(), pa.null()), inner[0])
        case _:
            plain = replace(node, logical="")
            made = _simple(plain, Type(PLAIN[node.kind]))
    assert made is not None, f"every {node.kind} can be skipped"
    return made


def default_of(field: AvroField, target: Type) -> Any:
    """The field's default, as `pa.array` takes it. Raises Unfit where it is none of its type."""
    body = json.loads(field.default or "null")
    failed: Exception = ValueError("null is none of its types")
    if body is None and field.type.nullable:
        return None
    for branch in field.type.values:
        try:
            return pa.array([_value(body, branch, target)], arrow_type(target))[0].as_py()
        except (TypeError, ValueError, KeyError, ArithmeticError, pa.ArrowException) as error:
            failed = error
    raise Unfit(f"/{field.name}", f"its default is none of its type: {failed}")


def _value(body: Any, node: Node, target: Type) -> Any:
    """A default's JSON as a value of this type."""
    if not isinstance(body, IN_JSON[node.kind]) or (isinstance(body, bool) and node.kind != "boolean"):
        raise TypeError(f"{str(body)[:60]!r} is no {spoken(node)}")
    made: Any = body
    if node.kind in ("bytes", "fixed"):
        made = made.encode("latin-1")
        if node.logical == "decimal":
            made = Decimal(int.from_bytes(made, "big", signed=True)).scaleb(-node.scale)
    elif node.kind == "record":
        named = {field.name: field for field in node.fields}
        made = {
            field.name: _inner(made, named[field.name], field.type) if field.name in named else None
            for field in target.fields
        }
    elif node.kind in ("array", "map"):
        pairs = made.items() if node.kind == "map" else enumerate(made)
        made = [(name, _any(each, node.inner[0], target.element or target)) for name, each in pairs]
        made = made if node.kind == "map" else [each for _, each in made]
    elif node.logical in MILLIS:
        made = made * 1000
    return made


def _inner(body: Any, field: AvroField, target: Type) -> Any:
    return _any(body[field.name], field.type, target) if field.name in body else default_of(field, target)


def _any(body: Any, node: Node, target: Type) -> Any:
    if body is None and node.nullable:
        return None
    return _value(body, node.values[0], target)


def spoken(node: Node) -> str:
    """The type as a person says it."""
    if node.kind == "union":
        return "[" + ", ".join(spoken(branch) for branch in node.inner) + "]"
    if node.logical == "decimal":
        return f"decimal({node.precision},{node.scale})"
    return f"{node.kind} {node.logical}" if node.logical else node.kind
