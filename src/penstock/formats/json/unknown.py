"""Fields that the schema does not name, in records that Arrow's reader has taken: their names, quickly.

Arrow's reader, told to ignore unknown fields, takes NaN, any depth and repeated names inside them. This pass finds
the names; where it cannot be sure that the ignored part is sound it says so, and the scanner judges the record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecoder
from typing import Any, NamedTuple

import msgspec
import numpy as np

from penstock.formats.json.readers import escaped, kept_text
from penstock.formats.json.scan import MAX_LEVELS
from penstock.formats.types import Field, Type

MOST_SHAPES = 1000
"""Sets of names that are remembered; a stream whose names are data must not fill the memory."""


FEW_NAMES = 16
"""Unknown fields of one record that are looked for one by one: each costs a search of the record."""
SHALLOW = MAX_LEVELS - 60
"""Levels that are surely not too many, whatever object the schema puts around the field."""
TEXTS = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
LEVELS = np.zeros(256, np.int8)
LEVELS[[ord("["), ord("{")]] = 1
LEVELS[[ord("]"), ord("}")]] = -1


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
        try:
            record = self._record(data)
            unknown = self._top.unknown(record)
            inside = self._inside(record)
            if not unknown and not inside:
                return NOTHING
            for name in unknown:
                _sure_it_is_shallow(record[name])
            _sure_they_stand_once(data, (*unknown, *inside))
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise Doubtful from error
        kept = kept_text([(name, bytes(record[name])) for name in unknown]) if self._keep else None
        names = dict.fromkeys(self._all_names(record)) if inside else map(escaped, unknown)
        return Found(tuple(names), kept)

    def _inside(self, record: dict[str, Any]) -> list[str]:
        """Unknown names in the declared STRUCTs of the record."""
        found: list[str] = []
        for field, where in self._top.nested.items():
            if field in record and (names := where.inside(self._value(record[field]))):
                _sure_it_is_shallow(record[field])
                found += names
        return found

    def _all_names(self, record: dict[str, Any]) -> Iterator[str]:
        """In the order of the record, as the scanner sees them: only the first names of a batch are counted."""
        for name, raw in record.items():
            if where := self._top.nested.get(name):
                yield from where.inside(self._value(raw), full=True)
            elif name not in self._top.names:
                yield escaped(name)


class _Object:
    """A declared object: the top one or a STRUCT."""

    def __init__(self, fields: tuple[Field, ...], where: tuple[str, ...]) -> None:
        self.where = where
        self.names = frozenset(field.name for field in fields)
        self.nested = {
            field.name: _Inner(field.type, (*where, escaped(field.name))) for field in fields if _has(field.type)
        }
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
        unknown = self.object.unknown(value)
        if not unknown and not self.object.nested:
            return []
        found: list[str] = []
        for name, inner in value.items():
            if name not in self.object.names:
                found.append("/".join((*self.object.where, escaped(name))) if full else name)
            elif nested := self.object.nested.get(name):
                found += nested.inside(inner, full)
        return found


def _has(kind: Type) -> bool:
    return kind.name == "STRUCT" or bool(kind.element and _has(kind.element))


def _sure_it_is_shallow(raw: msgspec.Raw) -> None:
    """Nesting is limited, in ignored fields too."""
    data = bytes(raw)
    if data.count(b"[") + data.count(b"{") < SHALLOW:
        return
    levels = LEVELS[np.frombuffer(TEXTS.sub(b"", data), np.uint8)]
    if np.cumsum(levels, dtype=np.int64).max() > SHALLOW:
        raise Doubtful


def _sure_they_stand_once(data: bytes, names: tuple[str, ...]) -> None:
    """A name that stands twice in one object is a `duplicate_key`.

    Once in the whole record is once, unless a backslash hides another spelling. Else every object is looked at.
    """
    plain = len(names) <= FEW_NAMES and (b"\\" not in data or (b"\\u" not in data and b"\\/" not in data))
    if not plain or any(data.count(b'"%b"' % name.encode()) != 1 for name in names):
        PAIRS.decode(data.decode())


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise Doubtful


PAIRS = JSONDecoder(object_pairs_hook=_distinct)
