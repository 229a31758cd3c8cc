"""Fields that the schema does not name, in records that Arrow's reader has taken: their names, quickly.

Arrow's reader, told to ignore unknown fields, takes NaN, any depth and repeated names inside them. This pass finds
the names; where it cannot be sure that the ignored part is sound it says so, and the scanner judges the record.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from penstock.formats.json_readers import escaped, kept_text
from penstock.formats.json_scan import MAX_LEVELS
from penstock.formats.types import Field, Type

MOST_SHAPES = 1000
"""Sets of names that are remembered; a stream whose names are data must not fill the memory."""


MOST_NAMES = 16
"""Unknown fields of one record that are looked for one by one: each costs a search of the record."""


class Doubtful(Exception):
    """Only the scanner can judge this record."""


class Found(NamedTuple):
    """Unknown fields of one record, or of one object that the schema declares."""

    names: tuple[str, ...] = ()
    """As they are counted: `x`, `device/x`, `items/*/x`."""
    kept: str | None = None
    """The top-level ones as JSON text, if they are kept."""


NOTHING = Found()


class UnknownFields:
    """Finds the unknown fields of one record at a time."""

    def __init__(self, fields: tuple[Field, ...], keep: bool) -> None:
        self._keep = keep
        self._record = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
        self._value = msgspec.json.Decoder().decode
        self._top = _Object(fields, ())

    def find(self, data: bytes) -> Found:
        """The unknown fields of this record. Raises `Doubtful`."""
        if len(data) > MAX_LEVELS and data.count(b"[") + data.count(b"{") > MAX_LEVELS:
            raise Doubtful
        try:
            record = self._record(data)
            unknown = self._top.unknown(record)
            inside = [
                name
                for field, where in self._top.nested
                if field in record
                for name in where.inside(self._value(record[field]))
            ]
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise Doubtful from error
        if not unknown and not inside:
            return NOTHING
        if len(unknown) + len(inside) > MOST_NAMES:
            raise Doubtful
        for name in (*unknown, *inside):
            _sure_it_stands_once(data, name)
        kept = kept_text([(name, bytes(record[name])) for name in unknown]) if self._keep else None
        top = tuple(map(escaped, unknown))
        return Found((*top, *dict.fromkeys(self._nested_names(record))) if inside else top, kept)

    def _nested_names(self, record: dict[str, Any]) -> list[str]:
        return [
            name
            for field, where in self._top.nested
            if field in record
            for name in where.inside(self._value(record[field]), full=True)
        ]


class _Object:
    """A declared object: the top one or a STRUCT."""

    def __init__(self, fields: tuple[Field, ...], where: tuple[str, ...]) -> None:
        self.where = where
        self.names = frozenset(field.name for field in fields)
        self.nested = [
            (field.name, _Inner(field.type, (*where, escaped(field.name)))) for field in fields if _has(field.type)
        ]
        self.shapes: dict[tuple[str, ...], tuple[str, ...]] = {}

    def unknown(self, value: dict[str, Any]) -> tuple[str, ...]:
        """The names that the schema does not know, in the order of the record."""
        shape = tuple(value)
        found = self.shapes.get(shape)
        if found is None:
            found = tuple(name for name in shape if name not in self.names)
            if len(self.shapes) < MOST_SHAPES and len(shape) < MOST_SHAPES:
                self.shapes[shape] = found
        return found


class _Inner:
    """What lies inside a declared STRUCT, or an ARRAY of them."""

    def __init__(self, kind: Type, where: tuple[str, ...]) -> None:
        self.object = _Object(kind.fields, where) if kind.name == "STRUCT" else None
        self.element = _Inner(kind.element, (*where, "*")) if kind.element else None

    def inside(self, value: Any, full: bool = False) -> list[str]:
        """The unknown names in this value: as they stand there, or in full, as they are counted."""
        if self.element and isinstance(value, list):
            return [name for one in value for name in self.element.inside(one, full)]
        if not self.object or not isinstance(value, dict):
            return []
        found = list(self.object.unknown(value))
        if full:
            found = ["/".join((*self.object.where, escaped(name))) for name in found]
        for field, inner in self.object.nested:
            if field in value:
                found += inner.inside(value[field], full)
        return found


def _has(kind: Type) -> bool:
    return kind.name == "STRUCT" or bool(kind.element and _has(kind.element))


def _sure_it_stands_once(data: bytes, name: str) -> None:
    """A name that stands twice in one object is a `duplicate_key`; once in the whole record is once.

    A backslash may hide a second spelling of the name.
    """
    if data.count(b'"%b"' % name.encode()) != 1 or (b"\\" in data and (b"\\u" in data or "/" in name)):
        raise Doubtful
