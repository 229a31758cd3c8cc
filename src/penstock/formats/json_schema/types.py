"""What a JSON Schema says of a row: its properties as columns, and whether it says more than their types.

    object -> STRUCT, or MAP<STRING, T> where it has no properties and `additionalProperties` has a type;
    array -> ARRAY; string -> STRING, with `format: date-time` TIMESTAMP, `date` DATE, `contentEncoding: base64` BINARY;
    integer -> BIGINT, or DECIMAL(20,0) where `maximum` is beyond it; boolean -> BOOLEAN;
    number -> DOUBLE, or DECIMAL(p,s) where `multipleOf` is a power of ten (0.01 -> s = 2).

A property is NOT NULL if it is required and cannot be null. `null` beside one other type (in `type`, `anyOf` or
`oneOf`) makes it nullable; `allOf` of objects is one object. What has no single type is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from penstock.errors import SchemaRefused
from penstock.formats.json_schema.refs import Documents
from penstock.formats.types import Field, Type

MOST_LEVELS = 50
ASSERTIONS = {
    "enum", "const", "multipleOf", "maximum", "minimum", "exclusiveMaximum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "contains", "minContains", "maxContains",
    "maxProperties", "minProperties", "patternProperties", "propertyNames", "dependencies", "dependentRequired",
    "dependentSchemas", "if", "not", "unevaluatedProperties", "unevaluatedItems", "anyOf", "oneOf",
}  # fmt: skip
"""Keywords by which a schema may say more than types."""
TEXTS = {"date-time": "TIMESTAMP", "date": "DATE"}
JSON_TYPES = (
    (bool, "boolean"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
    (list, "array"),
    (dict, "object"),
)


@dataclass
class Shape:
    """What the columns do not tell of a schema."""

    more: bool = False
    """There are rules beyond types: every record is validated."""
    nulls: bool = False
    """There are places that may be absent, but not null: records that hold a null are validated."""
    open: int = 0
    closed: int = 0
    """How many objects take properties that they do not name, and how many do not."""
    fields: tuple[Field, ...] = field(default=())


def shape_of(documents: Documents) -> Shape:
    """The row type of a schema. Raises SchemaRefused where rows cannot have it."""
    walk = _Walk(documents)
    node, base = walk.resolved(documents.root, documents.base, "", ())
    kind, nullable = walk.type(documents.root, documents.base, "", ())
    if kind.name != "STRUCT" or nullable:
        raise SchemaRefused(
            f"schema {documents.id}: a row is an object with properties; this describes {_word(node, base)}.",
        )
    walk.shape.fields = kind.fields
    walk.shape.more |= bool(walk.shape.closed and walk.shape.open)
    return walk.shape


def _word(node: Any, _base: str) -> str:
    return f"`type: {node.get('type')}`" if isinstance(node, dict) and "type" in node else "something else"


class _Walk:
    def __init__(self, documents: Documents) -> None:
        self.documents, self.shape = documents, Shape()

    def refused(self, path: str, why: str, remedy: str = "") -> SchemaRefused:
        return SchemaRefused(f"schema {self.documents.id}, {path or 'its root'}: {why}", remedy=remedy)

    def resolved(self, node: Any, base: str, path: str, above: tuple[int, ...]) -> tuple[Any, str]:
        """The node itself, behind its references."""
        seen = set(above)
        while isinstance(node, dict) and isinstance(node.get("$ref"), str):
            extra = {key for key in node if key in ASSERTIONS or key in ("type", "properties", "allOf")}
            if extra:
                self.shape.more = True
            node, base = self.documents.follow(node["$ref"], base)
            if id(node) in seen:
                raise self.refused(path, "the schema holds itself: a column would have no end.", "Leave it out.")
            seen.add(id(node))
        return node, base

    def type(self, node: Any, base: str, path: str, above: tuple[int, ...]) -> tuple[Type, bool]:
        """The type of a column that holds such values, and whether they may be null."""
        node, base = self.resolved(node, base, path, above)
        if len(above) > MOST_LEVELS:
            raise self.refused(path, f"it is nested more than {MOST_LEVELS} levels deep.")
        if not isinstance(node, dict):
            raise self.refused(path, "any value is allowed here, and a column has one type.", "Give it a `type`.")
        inner = (*above, id(node))
        for way in ("anyOf", "oneOf"):
            if isinstance(node.get(way), list):
                return self._either(node, way, base, path, inner)
        if isinstance(node.get("allOf"), list):
            node, base = self._together(node, base, path, inner)
        names, nullable = self._names(node, path)
        self._look(node, names)
        return self._one(names, node, base, path, inner), nullable

    def _names(self, node: dict[str, Any], path: str) -> tuple[str, bool]:
        """The one type that this node names, and whether null is allowed beside it."""
        given = node.get("type")
        values = node.get("enum") if isinstance(node.get("enum"), list) else [node["const"]] if "const" in node else []
        if given is None and values:
            given = sorted({_json_type(value) for value in values})
        if given is None and "properties" in node:
            given = "object"
        found = [given] if isinstance(given, str) else list(given) if isinstance(given, list) else []
        nullable = "null" in found
        found = [name for name in found if name != "null"]
        if set(found) == {"integer", "number"}:
            found = ["number"]
        if len(found) != 1 or not isinstance(found[0], str):
            several = f"it may be {' or '.join(map(str, found))}" if found else "it names no type"
            raise self.refused(
                path, f"{several}, and a column has one type.", "Give it one `type`, or that and `null`."
            )
        if values and None in values:
            nullable = True
        return found[0], nullable

    def _either(
        self, node: dict[str, Any], way: str, base: str, path: str, above: tuple[int, ...]
    ) -> tuple[Type, bool]:
        """`anyOf` and `oneOf` of one type and null."""
        options = [self.resolved(each, base, path, above) for each in node[way]]
        some = [(each, at) for each, at in options if not (isinstance(each, dict) and each.get("type") == "null")]
        if len(some) != 1:
            raise self.refused(
                path, f"`{way}` of several types, and a column has one.", "Give it one, or that and null."
            )
        others = {
            key: value for key, value in node.items() if key != way and key in (*ASSERTIONS, "properties", "allOf")
        }
        self.shape.more |= bool(others)
        kind, nullable = self.type(some[0][0], some[0][1], path, above)
        return kind, nullable or len(options) > 1

    def _together(
        self, node: dict[str, Any], base: str, path: str, above: tuple[int, ...]
    ) -> tuple[dict[str, Any], str]:
        """`allOf` as one: objects are put together; of others, one may say the type and the rest are rules."""
        parts = [self.resolved(each, base, path, above) for each in node["allOf"]]
        own = {key: value for key, value in node.items() if key != "allOf"}
        whole: dict[str, Any] = {}
        for part, at in [*parts, (own, base)]:
            if not isinstance(part, dict) or at != base or "allOf" in part or "$ref" in part:
                raise self.refused(path, "`allOf` goes across documents or levels.", "Write it as one schema.")
            self.shape.more |= bool(ASSERTIONS & set(part)) or part.get("additionalProperties") is False
            both = {**whole.get("properties", {}), **part.get("properties", {})}
            required = [*whole.get("required", []), *part.get("required", [])]
            whole = {**whole, **part, "required": required, **({"properties": both} if both else {})}
        whole.pop("additionalProperties", None)
        return whole, base

    def _look(self, node: dict[str, Any], name: str) -> None:
        """Does the node say more than its type? Closed objects are counted: often all are."""
        rules = ASSERTIONS & set(node)
        if name == "object":
            others = node.get("additionalProperties", True)
            self.shape.closed += others is False
            self.shape.open += others is not False and "properties" in node
            self.shape.more |= isinstance(others, dict) and bool(others) and "properties" in node
        self.shape.more |= bool(rules) or (name == "array" and isinstance(node.get("items"), list))

    def _one(self, name: str, node: dict[str, Any], base: str, path: str, above: tuple[int, ...]) -> Type:
        match name:
            case "object":
                return self._object(node, base, path, above)
            case "array":
                return self._array(node, base, path, above)
            case "string" | "boolean":
                return _text(node) if name == "string" else Type("BOOLEAN")
            case "integer" | "number":
                return _number(node) if name == "number" else _integer(node)
        raise self.refused(path, f"there is no type `{name}`.")

    def _array(self, node: dict[str, Any], base: str, path: str, above: tuple[int, ...]) -> Type:
        items = node.get("items")
        if items is None or isinstance(items, list | bool) or "prefixItems" in node:
            raise self.refused(path, "its elements have no type of their own.", "Give it `items` with a type.")
        kind, nullable = self.type(items, base, f"{path}/items", above)
        self.shape.nulls |= not nullable
        return Type("ARRAY", element=kind)

    def _object(self, node: dict[str, Any], base: str, path: str, above: tuple[int, ...]) -> Type:
        properties = node.get("properties")
        if isinstance(properties, dict) and properties:
            return Type("STRUCT", fields=self._fields(node, properties, base, path, above))
        values = node.get("additionalProperties")
        if not isinstance(values, dict) or not values:
            remedy = "Name its `properties`, or give `additionalProperties` a type."
            raise self.refused(path, "the object has no properties, so it would have no columns.", remedy)
        kind, nullable = self.type(values, base, f"{path}/additionalProperties", above)
        self.shape.nulls |= not nullable
        return Type("MAP", element=kind)

    def _fields(
        self, node: dict[str, Any], properties: dict[str, Any], base: str, path: str, above: tuple[int, ...]
    ) -> tuple[Field, ...]:
        wanted = node.get("required") if isinstance(node.get("required"), list) else []
        seen: dict[str, str] = {}
        found = []
        for name, each in properties.items():
            where = f"{path}/{name}"
            if name.startswith("_") or not name:
                raise self.refused(where, "names that start with `_` are penstock's.", "Rename it.")
            if seen.setdefault(name.lower(), name) != name:
                raise self.refused(
                    where, f"it differs from `{seen[name.lower()]}` only in case: tables take them as one."
                )
            kind, nullable = self.type(each, base, where, above)
            required = name in (wanted or [])
            self.shape.nulls |= not required and not nullable
            self.shape.more |= required and nullable  # it must be there, if only as null
            found.append(Field(name, kind, nullable=nullable or not required))
        self.shape.more |= bool(set(wanted or []) - set(properties))
        return tuple(found)


def _text(node: dict[str, Any]) -> Type:
    if str(node.get("contentEncoding", "")).lower() == "base64":
        return Type("BINARY")
    return Type(TEXTS.get(str(node.get("format")), "STRING"))


def _integer(node: dict[str, Any]) -> Type:
    most = node.get("maximum", node.get("exclusiveMaximum", 0))
    return Type("DECIMAL", 20, 0) if isinstance(most, int | float) and most >= 2**63 else Type("BIGINT")


def _number(node: dict[str, Any]) -> Type:
    scale = _scale(node.get("multipleOf"))
    if scale is None:
        return Type("DOUBLE")
    ends = [node.get("minimum"), node.get("maximum")]
    if all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
        digits = max(len(str(abs(int(end or 0)))) for end in ends)
        return Type("DECIMAL", min(38, digits + scale), scale)
    return Type("DECIMAL", 38, scale)


def _json_type(value: Any) -> str:
    return next((name for kind, name in JSON_TYPES if isinstance(value, kind)), "null")


def _scale(step: Any) -> int | None:
    """Decimal places, if this is a power of ten not above 1; None if it is not."""
    if isinstance(step, bool) or not isinstance(step, int | float):
        return None
    try:
        exact = Decimal(str(step)).normalize()
    except InvalidOperation:
        return None
    sign, digits, exponent = exact.as_tuple()
    if sign or digits != (1,) or not isinstance(exponent, int) or not -18 <= exponent <= 0:
        return None
    return -exponent
