"""Fields that the schema does not name, in records that Arrow's reader has taken: their names, quickly.

Arrow's reader, told to ignore unknown fields, takes NaN, any depth and repeated names inside them. This pass finds
the names; where it cannot be sure that the ignored part is sound it says so, and the scanner judges the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from penstock.formats.json_readers import escaped, kept_text, unknown_name
from penstock.formats.json_scan import MAX_LEVELS
from penstock.formats.types import Field, Type


class Doubtful(Exception):
    """Only the scanner can judge this record."""


class UnknownFields:
    """Finds the unknown fields of one record at a time."""

    def __init__(self, fields: tuple[Field, ...], keep: bool) -> None:
        self.keep = keep
        self.record = msgspec.json.Decoder(dict[str, msgspec.Raw])
        self.value = msgspec.json.Decoder()
        self.fields = fields
        self.names = frozenset(field.name for field in fields)
        self.nested = [field for field in fields if _has_struct(field.type)]

    def find(self, data: bytes) -> tuple[tuple[str, ...], str | None]:
        """The names, and the top-level ones as JSON text if they are kept. Raises `Doubtful`."""
        if len(data) > MAX_LEVELS and data.count(b"[") + data.count(b"{") > MAX_LEVELS:
            raise Doubtful
        try:
            record = self.record.decode(data)
            names = [*self._top(data, record), *self._nested(data, record)]
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, ValueError) as error:
            raise Doubtful from error
        kept = None
        if self.keep and len(record.keys() - self.names):
            kept = kept_text([(name, bytes(record[name])) for name in record if name not in self.names])
        return tuple(dict.fromkeys(names)), kept

    def _top(self, data: bytes, record: dict[str, Any]) -> Iterator[str]:
        if record.keys() <= self.names:
            return
        for name in record:
            if name not in self.names:
                _sure_it_stands_once(data, name)
                yield escaped(name)

    def _nested(self, data: bytes, record: dict[str, Any]) -> Iterator[str]:
        for field in self.nested:
            if field.name in record:
                yield from self._inside(data, self.value.decode(record[field.name]), field.type, (escaped(field.name),))

    def _inside(self, data: bytes, value: Any, kind: Type, where: tuple[str, ...]) -> Iterator[str]:
        if value is None:
            return
        if kind.name == "ARRAY" and kind.element:
            for one in value:
                yield from self._inside(data, one, kind.element, (*where, "*"))
        elif kind.name == "STRUCT":
            known = {field.name: field.type for field in kind.fields}
            for name, inner in value.items():
                if name not in known:
                    _sure_it_stands_once(data, name)
                    yield unknown_name(where, name)
                elif _has_struct(known[name]):
                    yield from self._inside(data, inner, known[name], (*where, escaped(name)))


def _has_struct(kind: Type) -> bool:
    return kind.name == "STRUCT" or bool(kind.element and _has_struct(kind.element))


def _sure_it_stands_once(data: bytes, name: str) -> None:
    """A name that stands twice in one object is a `duplicate_key`. Once in the whole record is once.

    A backslash may hide a second spelling of the name.
    """
    if data.count(b'"' + name.encode() + b'"') != 1 or (b"\\" in data and (b"\\u" in data or "/" in name)):
        raise Doubtful
