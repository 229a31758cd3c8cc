"""JSON values as their bytes say: numbers keep their text, so that nothing is rounded before it is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from penstock.formats.json.readers import NUMBERS, TEXTS, Good, Scanner
from penstock.formats.json.scalars import Unfit
from penstock.formats.json.scan import Problem
from penstock.formats.types import Type

_GRAMMAR = Scanner(())
"""Names no field: it accepts every JSON object that the real decoder could accept with some schema."""


class Number(str):
    """The literal of a JSON number."""

    __slots__ = ()


def problem_with(data: bytes) -> Problem | None:
    """Why no schema at all could take this value; None for a JSON object."""
    judged = _GRAMMAR.scan(data)
    return None if isinstance(judged, Good) else judged


def parse(data: bytes) -> dict[str, Any] | None:
    """A JSON object that has no problem, as a value; None if it is nested too deep to be looked into."""
    try:
        found = json.loads(data, parse_int=Number, parse_float=Number)
    except RecursionError:
        return None
    return dict(found)


def kind_of(value: Any) -> str:
    """null, boolean, number, text, object or array."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "number" if isinstance(value, Number) else "text"
    return "object" if isinstance(value, dict) else "array"


def fits(value: str, kind: Type) -> bool:
    """Would the decoder take this number or text for the type? It is the decoder's own code that answers."""
    table: dict[str, Callable[[str, Type], Any]] = NUMBERS if isinstance(value, Number) else TEXTS
    read = table.get(kind.name)
    if read is None:
        return False
    try:
        read(str(value), kind)
    except Unfit:
        return False
    return True
