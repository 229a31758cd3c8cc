"""Avro schemas as trees: read from their JSON, names resolved, what rows cannot have refused; and written back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from penstock.errors import SchemaRefused
from penstock.schemas.contract import Schema

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
DEEPEST = 64
MOST_FIELDS = 10_000
"""Of one schema, with named types counted wherever they are used: a small text can stand for endless columns."""
MOST_BYTES = 4_000_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LOGICAL: dict[str, frozenset[str]] = {
    "decimal": frozenset({"bytes", "fixed"}),
    "uuid": frozenset({"string", "fixed"}),
    "date": frozenset({"int"}),
    "timestamp-millis": frozenset({"long"}),
    "timestamp-micros": frozenset({"long"}),
    "local-timestamp-millis": frozenset({"long"}),
    "local-timestamp-micros": frozenset({"long"}),
}
"""Logical types that decide a column's type -> the types that can carry them. Of any other the plain type counts."""


@dataclass(frozen=True)
class Node:
    """One type of a schema."""

    kind: str
    """A primitive's name, or `record`, `enum`, `array`, `map`, `fixed`, `union`."""
    name: str = ""
    """Full name of a record, an enum or a fixed."""
    logical: str = ""
    precision: int = 0
    scale: int = 0
    size: int = 0
    """Of a fixed."""
    fields: tuple[AvroField, ...] = ()
    symbols: tuple[str, ...] = ()
    inner: tuple[Node, ...] = ()
    """Of an array its items, of a map its values, of a union its branches."""

    @property
    def branches(self) -> tuple[Node, ...]:
        """The branches of a union; any other type is a union of one."""
        return self.inner if self.kind == "union" else (self,)

    @property
    def nullable(self) -> bool:
        return any(branch.kind == "null" for branch in self.branches)

    @property
    def values(self) -> tuple[Node, ...]:
        """The branches that hold something."""
        return tuple(branch for branch in self.branches if branch.kind != "null")


@dataclass(frozen=True)
class AvroField:
    name: str
    type: Node
    aliases: tuple[str, ...] = ()
    default: str | None = None
    """As JSON text; None where there is none."""
    doc: str = ""


NULL = Node("null")


@lru_cache(maxsize=256)
def parsed(schema: Schema) -> Node:
    """The schema's record. Raises SchemaRefused where it is none, or where rows cannot have it."""
    if schema.format != "avro":
        raise refused(schema.id, f"it is {schema.format}, not Avro")
    reader = _Parser(schema.id)
    for _name, text in schema.imported:
        reader.read(_json(schema.id, text))
    node = reader.read(_json(schema.id, schema.text))
    if node.kind != "record":
        raise refused(schema.id, f"it is of the type `{node.kind}`, and only a record has columns")
    if _size(node) > MOST_FIELDS:
        raise refused(schema.id, f"it has more than {MOST_FIELDS} fields, those of its inner records counted each time")
    return node


def _json(number: int, text: str) -> Any:
    if len(text) > MOST_BYTES:
        raise refused(number, f"its text is larger than {MOST_BYTES // 1_000_000} MB")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refused(number, f"its text is not JSON: {error}") from error


def _size(node: Node) -> int:
    """Fields, those of inner records counted each time; stops counting where it is too many."""
    total = 0
    stack = [node]
    while stack and total <= MOST_FIELDS:
        one = stack.pop()
        total += len(one.fields) + len(one.inner)
        stack += [*one.inner, *(field.type for field in one.fields)]
    return total


class _Parser:
    """Reads types; keeps those with a name."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.named: dict[str, Node] = {}
        self.open: list[str] = []

    def read(self, body: Any, space: str = "", depth: int = 0) -> Node:
        if depth > DEEPEST:
            raise refused(self.number, f"it is more than {DEEPEST} levels deep")
        if isinstance(body, str):
            return Node(body) if body in PRIMITIVES else self._reference(body, space)
        if isinstance(body, list):
            return self._union(body, space, depth)
        if not isinstance(body, dict) or "type" not in body:
            raise refused(self.number, f"`{str(body)[:60]}` is no type")
        return self._complex(body, space, depth)

    def _reference(self, name: str, space: str) -> Node:
        for full in (name,) if "." in name else (f"{space}.{name}" if space else name, name):
            if full in self.open:
                raise refused(
                    self.number, f"`{full}` holds itself, at any depth: no table can have such a column", "recursive"
                )
            if full in self.named:
                return self.named[full]
        short = name.rpartition(".")[2]
        raise refused(
            self.number,
            f"nothing says what the type `{name}` is (in a registry that takes a reference, in a folder a file like "
            f"{short}.avsc)",
        )

    def _union(self, body: list[Any], space: str, depth: int) -> Node:
        branches = tuple(self.read(each, space, depth + 1) for each in body)
        if not branches or any(branch.kind == "union" for branch in branches):
            raise refused(self.number, "a union is empty, or holds a union")
        return Node("union", inner=branches)

    def _complex(self, body: dict[str, Any], space: str, depth: int) -> Node:
        kind = body["type"]
        if isinstance(kind, dict | list):
            return self.read(kind, space, depth + 1)
        if kind in ("array", "map"):
            inner = body.get("items" if kind == "array" else "values")
            return Node(kind, inner=(self.read(inner, space, depth + 1),))
        if kind in ("record", "error", "enum", "fixed"):
            return self._named(body, kind, space, depth)
        return self._with_logical(self.read(kind, space, depth + 1), body)

    def _named(self, body: dict[str, Any], kind: str, space: str, depth: int) -> Node:
        full = self._full_name(body, space)
        space = full.rpartition(".")[0]
        if kind == "enum":
            node = Node("enum", full, symbols=tuple(map(str, self._list(body, "symbols", full))))
        elif kind == "fixed":
            size = body.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= 2**31 - 1:
                raise refused(self.number, f"the fixed `{full}` has no size")
            node = self._with_logical(Node("fixed", full, size=size), body)
        else:
            self.open.append(full)
            fields = tuple(self._field(each, space, depth) for each in self._list(body, "fields", full))
            self.open.pop()
            node = Node("record", full, fields=fields)
            self._distinct(node)
        self.named[full] = node
        return node

    def _full_name(self, body: dict[str, Any], space: str) -> str:
        name = body.get("name")
        if not isinstance(name, str) or not name:
            raise refused(self.number, f"a {body['type']} has no name")
        if "." not in name:
            space = body["namespace"] if isinstance(body.get("namespace"), str) else space
            name = f"{space}.{name}" if space else name
        return name

    def _list(self, body: dict[str, Any], key: str, name: str) -> list[Any]:
        if not isinstance(body.get(key), list):
            raise refused(self.number, f"`{name}` has no {key}")
        return list(body[key])

    def _field(self, body: Any, space: str, depth: int) -> AvroField:
        if not isinstance(body, dict) or "type" not in body or not isinstance(body.get("name"), str):
            raise refused(self.number, f"`{str(body)[:60]}` is no field")
        if not _NAME.fullmatch(body["name"]):
            raise refused(self.number, f"`{body['name'][:60]}` is no name of a field")
        aliases = body.get("aliases")
        return AvroField(
            body["name"],
            self.read(body["type"], space, depth + 1),
            tuple(each for each in aliases if isinstance(each, str)) if isinstance(aliases, list) else (),
            json.dumps(body["default"]) if "default" in body else None,
            body["doc"] if isinstance(body.get("doc"), str) else "",
        )

    def _distinct(self, node: Node) -> None:
        seen: dict[str, str] = {}
        for field in node.fields:
            other = seen.setdefault(field.name.lower(), field.name)
            if other != field.name or [each.name for each in node.fields].count(field.name) > 1:
                raise refused(
                    self.number, f"the fields `{other}` and `{field.name}` of `{node.name}` are one name to a table"
                )

    def _with_logical(self, node: Node, body: Mapping[str, Any]) -> Node:
        """With its logical type, if it is one that counts. As Avro wants it, a wrong one is no logical type."""
        logical = body.get("logicalType")
        if not isinstance(logical, str) or node.kind not in LOGICAL.get(logical, ()):
            return node
        if logical == "uuid" and node.kind == "fixed" and node.size != 16:
            return node
        if logical != "decimal":
            return replace(node, logical=logical)
        precision, scale = _whole(body.get("precision")), _whole(body.get("scale", 0))
        if not 0 <= scale <= precision or precision == 0:
            return node
        if precision > 38:
            raise refused(self.number, f"it has a decimal of {precision} digits, and a table's has 38 at most")
        return replace(node, logical=logical, precision=precision, scale=scale)


def _whole(value: Any) -> int:
    """A whole number; -1 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else -1


def refused(number: int, why: str, word: str = "") -> SchemaRefused:
    """What is wrong with this schema."""
    called = f"schema {number}" if number > 0 else "the schema"
    remedy = "Leave that field out in the producer's schema, or land the records as they are:  decode: raw"
    error = SchemaRefused(f"{called} cannot give rows: {why}.", data="Nothing was read with it.", remedy=remedy)
    error.why = f"{called}: {why}" if not word else f"{called} is {word}: {why}"  # type: ignore[attr-defined]
    return error


def to_body(node: Node) -> Any:
    """The type as JSON values. Named types are written out wherever they are used: no text for a registry."""
    if node.kind == "union":
        return [to_body(branch) for branch in node.inner]
    body: dict[str, Any] = {"type": node.kind}
    if node.name:
        body["name"] = node.name
    if node.logical:
        body["logicalType"] = node.logical
    if node.logical == "decimal":
        body |= {"precision": node.precision, "scale": node.scale}
    if node.kind == "fixed":
        body["size"] = node.size
    elif node.kind == "enum":
        body["symbols"] = list(node.symbols)
    elif node.kind in ("array", "map"):
        body["items" if node.kind == "array" else "values"] = to_body(node.inner[0])
    elif node.kind == "record":
        body["fields"] = [dict(_field_body(field)) for field in node.fields]
    return node.kind if set(body) == {"type"} else body


def _field_body(field: AvroField) -> Iterator[tuple[str, Any]]:
    yield "name", field.name
    yield "type", to_body(field.type)
    if field.aliases:
        yield "aliases", list(field.aliases)
    if field.default is not None:
        yield "default", json.loads(field.default)
    if field.doc:
        yield "doc", field.doc
