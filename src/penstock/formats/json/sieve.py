"""A quick look at records when many are bad: which ones would the parser refuse?

Arrow's reader refuses a whole step for one bad record, so a stream with many of them is sieved first, by msgspec
types made from the schema. The sieve may let a bad record through, and may hold back a good one: what it holds back
goes to the scanner, what it lets through to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from penstock.formats.json.scalars import BITS
from penstock.formats.types import Field, Type

Typed = Callable[[Type, bool], Any]
"""A type of the schema (and whether its objects are closed) as msgspec reads it."""
ODD = re.compile(r'[\x00-\x1f"\\]')
DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
TIME = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:]{2,8}(\.[0-9]{1,6})?(Z|[+-][0-9:]{2,5})?)?$"


SCALARS: dict[str, Any] = {
    "BOOLEAN": bool,
    "FLOAT": float,
    "DOUBLE": float,
    "DECIMAL": float | str,
    "STRING": str,
    "BINARY": str,
    "DATE": Annotated[str, msgspec.Meta(pattern=DAY)],
    "TIMESTAMP": Annotated[str, msgspec.Meta(pattern=TIME)],
}


class Sieve:
    """Tells records that fit the schema's shape from those that do not."""

    def __init__(self, fields: tuple[Field, ...], unknown_fields: str) -> None:
        self._raw = msgspec.json.Decoder(msgspec.Raw)
        self._names: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_struct(fields, True, _raw))
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
            _struct(fields, unknown_fields == "reject", _type)
        )

    def is_json(self, data: bytes) -> bool:
        """Whether it is one JSON value; quicker than `passes`."""
        try:
            self._raw.decode(data)
        except (msgspec.MsgspecError, RecursionError):
            return False
        return True

    def knows_all(self, data: bytes) -> bool:
        """Whether it is an object with no field that the schema does not name; values are not looked at."""
        try:
            self._names.decode(data)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return False
        return True

    def passes(self, data: bytes) -> bool:
        try:
            self._decoder.decode(data)
        except (msgspec.MsgspecError, RecursionError, ValueError):
            return False
        return True


def _struct(fields: tuple[Field, ...], closed: bool, typed: Typed) -> type:
    """A record type. Its attributes get names of their own: a JSON name need not be a Python one.

    Names that msgspec cannot take are left out, and then no name is forbidden.
    """
    named = [field for field in fields if not ODD.search(field.name)]
    members: list[Any] = []
    for number, field in enumerate(named):
        kind = typed(field.type, closed)
        kind = kind if kind is msgspec.Raw else kind | None if field.nullable else kind  # raw takes null as it is
        members.append((f"f{number}", kind, None) if field.nullable else (f"f{number}", kind))
    names = {f"f{number}": field.name for number, field in enumerate(named)}
    closed = closed and len(named) == len(fields)
    return msgspec.defstruct("Record", members, kw_only=True, rename=names, forbid_unknown_fields=closed, gc=False)


def _type(kind: Type, closed: bool) -> Any:
    match kind.name:
        case "TINYINT" | "SMALLINT" | "INT" | "BIGINT":
            limit = 1 << (BITS[kind.name] - 1)
            return Annotated[int, msgspec.Meta(ge=-limit, le=limit - 1)]
        case "ARRAY" if kind.element:
            return list[_type(kind.element, closed) | None]  # type: ignore[misc]
        case "MAP" if kind.element:
            return dict[str, _type(kind.element, closed) | None]  # type: ignore[misc]
        case "STRUCT":
            return _struct(kind.fields, closed, _type)
    return SCALARS[kind.name]


def _raw(kind: Type, closed: bool) -> Any:
    """Just deep enough to see every name."""
    if kind.name == "STRUCT":
        return _struct(kind.fields, closed, _raw)
    if kind.name == "ARRAY" and kind.element and (inner := _raw(kind.element, closed)) is not msgspec.Raw:
        return list[inner | None]  # type: ignore[valid-type]
    return msgspec.Raw
