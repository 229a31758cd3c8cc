"""A reader for each declared type: the schema's half of the strict scanner."""

from __future__ import annotations

from collections.abc import Callable
from json import dumps
from typing import Any, NamedTuple

from penstock.formats.json import scalars as json_scalars
from penstock.formats.json.scalars import Unfit
from penstock.formats.json.scan import NUMBER_TOKEN, PLAIN, PLAIN_KEY, Path, Problem, Scan, Token, excerpt
from penstock.formats.types import Field, Type

Reader = Callable[[Scan, int, Path, int], tuple[Any, int]]
"""(scan, position, path, level) -> value and the position behind it; raises `Problem`."""

NUMBERS: dict[str, Callable[[str, Type], Any]] = {
    "TINYINT": json_scalars.integer,
    "SMALLINT": json_scalars.integer,
    "INT": json_scalars.integer,
    "BIGINT": json_scalars.integer,
    "FLOAT": json_scalars.double,
    "DOUBLE": json_scalars.double,
    "DECIMAL": json_scalars.decimal,
}
TEXTS: dict[str, Callable[[str, Type], Any]] = {
    "STRING": lambda text, kind: text,
    "DECIMAL": json_scalars.decimal,
    "TIMESTAMP": json_scalars.timestamp,
    "DATE": json_scalars.calendar_date,
    "BINARY": json_scalars.base64,
}


class Good(NamedTuple):
    """A record that fits: its declared fields, and what else it held."""

    value: dict[str, Any]
    unknown: tuple[str, ...]
    """Names that the schema does not know: `x`, `device/x`, `items/*/x` (`~1` for a slash in a name)."""
    kept: str | None
    """The unknown top-level fields as JSON text, where the schema keeps them."""


class Scanner:
    """Judges one record at a time: `Good`, or the first `Problem`. Nothing raises because of data."""

    def __init__(self, fields: tuple[Field, ...], unknown_fields: str = "ignore") -> None:
        self.keep = unknown_fields == "keep"
        self.read = _members(fields, unknown_fields, ())

    def scan(self, data: bytes) -> Good | Problem:
        scan = Scan(data)
        try:
            value = self._record(scan)
        except Problem as problem:
            return problem
        kept = kept_text(scan.kept) if self.keep else None
        return Good(value, tuple(scan.unknown), kept)

    def _record(self, scan: Scan) -> dict[str, Any]:
        at = scan.space(0)
        if at == len(scan.data):
            raise Problem("empty", None, "The value holds no bytes." if not at else "The value holds only spaces.")
        token = scan.token(at, None)
        if token.kind != "an object":
            raise Problem("not_an_object", None, f"The value is {token.kind}: `{excerpt(scan.data, at)}`.")
        value, at = self.read(scan, at, None, 0)
        at = scan.space(at)
        if at < len(scan.data):
            raise Problem("trailing_data", None, f"After the object, at byte {at}: `{excerpt(scan.data, at)}`.")
        return dict(value)


def kept_text(kept: list[tuple[str, bytes]]) -> str | None:
    """Unknown fields as one JSON object: names written anew, values as they came."""
    if not kept:
        return None
    return "{" + ",".join(f"{dumps(name, ensure_ascii=False)}:{raw.decode()}" for name, raw in kept) + "}"


def unknown_name(where: tuple[str, ...], name: str) -> str:
    """How an unknown field is counted."""
    return "/".join((*where, escaped(name)))


def escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _reader(kind: Type, unknown_fields: str, where: tuple[str, ...]) -> Reader:
    if kind.name == "STRUCT":
        return _nullable("an object", kind, _members(kind.fields, unknown_fields, where))
    if kind.name in ("ARRAY", "MAP"):
        assert kind.element is not None
        element = _reader(kind.element, unknown_fields, (*where, "*"))
        if kind.name == "ARRAY":
            return _nullable("an array", kind, _array(element))
        return _nullable("an object", kind, _map(element))
    if kind.name == "BOOLEAN":
        return _boolean(kind)
    return _scalar(kind)


def _wrong(scan: Scan, at: int, path: Path, kind: Type, token: Token) -> Problem:
    found = f"{token.kind} `{excerpt(scan.data, at, token.end)}`" if token.text else token.kind
    return Problem("wrong_type", path, f"Expected {kind.name}, found {found} at byte {at}.")


def _nullable(expected: str, kind: Type, read: Reader) -> Reader:
    def reader(scan: Scan, at: int, path: Path, level: int) -> tuple[Any, int]:
        token = scan.token(at, path)
        if token.kind == expected:
            return read(scan, at, path, level)
        if token.kind == "null":
            return None, token.end
        raise _wrong(scan, at, path, kind, token)

    return reader


def _boolean(kind: Type) -> Reader:
    values = {"true": True, "false": False, "null": None}

    def reader(scan: Scan, at: int, path: Path, level: int) -> tuple[Any, int]:
        token = scan.token(at, path)
        if token.kind not in values:
            raise _wrong(scan, at, path, kind, token)
        return values[token.kind], token.end

    return reader


def _scalar(kind: Type) -> Reader:
    number, text = NUMBERS.get(kind.name), TEXTS.get(kind.name)

    def reader(scan: Scan, at: int, path: Path, level: int) -> tuple[Any, int]:
        try:
            # The common case first: one match, no token made.
            if number and (match := NUMBER_TOKEN.match(scan.data, at)):
                return number(match[0].decode(), kind), match.end()
            if text and (match := PLAIN.match(scan.data, at)):
                return text(match[1].decode(), kind), match.end()
            token = scan.token(at, path)
            if text and token.kind == "text":
                found, end = scan.string(at, path)
                return text(found, kind), end
        except Unfit as unfit:
            token = scan.token(at, path)
            end = token.end if token.text else scan.string(at, path)[1]
            raise Problem(unfit.code, path, f"`{excerpt(scan.data, at, end)}` {unfit.why}.") from None
        if token.kind == "null":
            return None, token.end
        raise _wrong(scan, at, path, kind, token)

    return reader


def _array(element: Reader) -> Reader:
    def reader(scan: Scan, at: int, path: Path, level: int) -> tuple[Any, int]:
        values: list[Any] = []
        at = scan.space(at + 1)
        if scan.byte(at) == b"]":
            return values, at + 1
        another = True
        while another:
            value, at = element(scan, at, (len(values), path), level + 1)
            values.append(value)
            another, at = scan.more(at, path, b"]")
        return values, at

    return reader


def _map(element: Reader) -> Reader:
    def reader(scan: Scan, at: int, path: Path, level: int) -> tuple[Any, int]:
        values: dict[str, Any] = {}
        at = scan.space(at + 1)
        if scan.byte(at) == b"}":
            return [], at + 1
        another = True
        while another:
            name, at = scan.name(at, path)
            if name in values:
                raise Problem("duplicate_key", (name, path), f"The key stands twice; again before byte {at}.")
            values[name], at = element(scan, scan.colon(at, (name, path)), (name, path), level + 1)
            another, at = scan.more(at, path, b"}")
        return list(values.items()), at

    return reader


def _members(fields: tuple[Field, ...], unknown_fields: str, where: tuple[str, ...]) -> Reader:
    """A reader of an object with declared fields."""
    readers = {
        field.name: (_reader(field.type, unknown_fields, (*where, escaped(field.name))), field.nullable)
        for field in fields
    }
    required = [field.name for field in fields if not field.nullable]

    def ignore(scan: Scan, start: int, name: str, inner: Path, level: int) -> int:
        end = scan.skip(start, inner, level)
        scan.unknown[unknown_name(where, name)] = None
        if not where:
            scan.kept.append((name, scan.data[start:end]))
        return end

    def reader(scan: Scan, at: int, path: Path, level: int) -> tuple[Any, int]:
        values: dict[str, Any] = dict.fromkeys(readers)
        seen: set[str] = set()
        at = scan.space(at + 1)
        another = scan.byte(at) != b"}"
        at = at if another else at + 1
        while another:
            plain = PLAIN_KEY.match(scan.data, at)
            name, at = (plain[1].decode(), plain.end()) if plain else scan.name(at, path)
            inner = (name, path)
            if name in seen:
                raise Problem("duplicate_key", inner, f"The key stands twice; again before byte {at}.")
            seen.add(name)
            member = readers.get(name)
            if member is None and unknown_fields == "reject":
                raise Problem("unknown_field", inner, "The schema does not name this field.")
            start = at if plain else scan.colon(at, inner)
            if member is None:
                at = ignore(scan, start, name, inner, level + 1)
            else:
                values[name], at = member[0](scan, start, inner, level + 1)
                if values[name] is None and not member[1]:
                    raise Problem("missing_field", inner, f"The field is NOT NULL; null at byte {start}.")
            another, at = scan.more(at, path, b"}")
        for name in required:
            if name not in seen:
                detail = f"The field is NOT NULL and absent; its object ends at byte {at}."
                raise Problem("missing_field", (name, path), detail)
        return values, at

    return reader
