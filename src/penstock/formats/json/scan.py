"""The strict scanner: one JSON value against the schema, byte by byte. It has the last word on every record.

It reads RFC 8259 and nothing more, keeps the fields that the schema names, and stops at the first problem by byte
position. The kind of a value is known from its first byte for text, objects and arrays, and from the whole token
for numbers and words; if the kind does not fit, the problem lies at the value's first byte. A field that is absent
is missed at the end of its object. `field` points to the member or element at fault; for a problem between members
to the object around it (none: the record itself), for one inside an ignored field to that field.
"""

from __future__ import annotations

import re
from json import dumps
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

MAX_LEVELS = 500
SPACE = re.compile(rb"[ \t\n\r]*+")
PLAIN = re.compile(rb'"([^"\\\x00-\x1f\x80-\xff]*+)"')
PLAIN_KEY = re.compile(rb'"([^"\\\x00-\x1f\x80-\xff]*+)"[ \t\n\r]*+:[ \t\n\r]*+')
MORE = re.compile(rb"[ \t\n\r]*+([,}\]])[ \t\n\r]*+")
STRING = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4}){0,1000}')
"""A piece of a text: a regular expression remembers every turn, so a text of many escapes is read in several.

Neither here nor below does `+` make a group possessive: up to Python 3.11.4 that takes the beginning of a group that
does not match.
"""
NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?")
NUMBER_TOKEN = re.compile(NUMBER.pattern + rb"(?![.eE])")
NUMBER_GOES_ON = re.compile(rb"\.|[eE][+-]?+")
ESCAPE_START = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
LONE = re.compile("[\ud800-\udfff]")
WORDS = (b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity")
STARTS = {b'"': "text", b"{": "an object", b"[": "an array"}

Path = tuple[Any, ...] | None
"""Where we are, innermost first: (key or index, (key or index, ... None))."""


class Problem(Exception):
    """The first thing that is wrong with a record."""

    def __init__(self, code: str, path: Path, detail: str) -> None:
        super().__init__(detail)
        self.code, self.field, self.detail = code, pointer(path), detail


class Token(NamedTuple):
    """What stands at a position: its kind in words, the text of a number, and where it ends (text and containers:
    where it begins)."""

    kind: str
    text: str
    end: int


def pointer(path: Path) -> str | None:
    """RFC 6901, or None for the whole record."""
    parts: list[str] = []
    while path:
        parts.append(str(path[0]).replace("~", "~0").replace("/", "~1"))
        path = path[1]
    return "/" + "/".join(reversed(parts)) if parts else None


def excerpt(data: bytes, at: int, end: int | None = None) -> str:
    """At most 40 characters of the value, safe to print."""
    text = data[at : min(at + 40, end if end is not None else len(data))].decode("utf-8", "replace")
    more = (end if end is not None else len(data)) > at + 40
    return dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')[:40] + ("..." if more else "")


class Scan:
    """Reading of one record: grammar only; the schema's readers drive it."""

    __slots__ = ("data", "kept", "unknown")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.unknown: dict[str, None] = {}
        self.kept: list[tuple[str, bytes]] = []

    def space(self, at: int) -> int:
        return SPACE.match(self.data, at).end()  # type: ignore[union-attr]

    def byte(self, at: int) -> bytes:
        return self.data[at : at + 1]

    def unexpected(self, at: int, path: Path, wanted: str) -> Problem:
        """The problem at a byte that cannot stand there."""
        if at >= len(self.data):
            return Problem("truncated_json", path, f"The value ends at byte {at}, where {wanted} is expected.")
        if self.data[at] >= 0x80:
            try:
                self.data[at : at + 4].decode()
            except UnicodeDecodeError as error:
                if error.start == 0:
                    return self.not_utf8(at, path)
        found = f"`{excerpt(self.data, at, at + 20)}`"
        return Problem("invalid_json", path, f"Expected {wanted} at byte {at}, found {found}.")

    def not_utf8(self, at: int, path: Path) -> Problem:
        return Problem("invalid_utf8", path, f"Byte {at} (0x{self.data[at]:02x}) is not UTF-8.")

    def token(self, at: int, path: Path) -> Token:
        """What stands here. Numbers and words are read to their end."""
        first = self.byte(at)
        if kind := STARTS.get(first):
            return Token(kind, "", at)
        if match := NUMBER_TOKEN.match(self.data, at):
            return Token("a number", match[0].decode(), match.end())
        if match := NUMBER.match(self.data, at):
            raise self.half_number(match[0], match.end(), path)
        for word in WORDS:
            if self.data.startswith(word, at):
                if word[-1:] in b"Ny":
                    raise Problem("not_finite", path, f"{word.decode()} at byte {at} is not a JSON number.")
                return Token(word.decode(), "", at + len(word))
        if first and len(self.data) - at < 9 and any(word.startswith(self.data[at:]) for word in WORDS):
            raise Problem("truncated_json", path, f"The value ends within `{excerpt(self.data, at)}`.")
        raise self.unexpected(at, path, "a value")

    def half_number(self, before: bytes, at: int, path: Path) -> Problem:
        """A number is followed by a part of a number: a second one, or one without its digits."""
        if b"e" in before.lower() or (b"." in before and self.byte(at) == b"."):
            return self.unexpected(at, path, "the end of a number")
        end = NUMBER_GOES_ON.match(self.data, at).end()  # type: ignore[union-attr]
        return self.unexpected(end, path, "a digit")

    def _text_end(self, at: int) -> int:
        """Where the text that goes on here is over: at its quote, at something that no text holds, at the end."""
        while (end := STRING.match(self.data, at).end()) > at:  # type: ignore[union-attr]
            at = end
        return at

    def string(self, at: int, path: Path) -> tuple[str, int]:
        """The text that begins at this quote, and the position behind it."""
        if match := PLAIN.match(self.data, at):
            return match[1].decode("ascii"), match.end()
        end = self._text_end(at + 1)
        closed = self.data[end : end + 1] == b'"'
        raw = self.data[at + 1 : end]
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            if end == len(self.data) and error.reason == "unexpected end of data":
                raise self.unexpected(end, path, "the rest of a character") from None
            raise self.not_utf8(at + 1 + error.start, path) from None
        if b"\\" in raw:
            text = scanstring(text + '"', 0)[0]
            lone = LONE.search(text)
            # At the very end of the bytes a high surrogate may only be waiting for its other half.
            last = lone and not closed and lone.end() == len(text) and lone[0] < "\udc00"
            if lone and not (last and self.ends_in_escape(end)):
                raise Problem(
                    "invalid_utf8", path, f"The text at byte {at} has half a surrogate pair (\\u{ord(lone[0]):04x})."
                )
        if not closed:
            raise self.broken_string(end, path)
        return text, end + 1

    def ends_in_escape(self, at: int) -> bool:
        """The bytes end here, or within a \\u escape that begins here."""
        match = ESCAPE_START.match(self.data, at)
        return (match.end() if match else at) == len(self.data)

    def broken_string(self, at: int, path: Path) -> Problem:
        if self.ends_in_escape(at):
            return Problem("truncated_json", path, f"The value ends at byte {len(self.data)}, within a text.")
        if self.byte(at) == b"\\":
            return Problem("invalid_json", path, f"`{excerpt(self.data, at, at + 6)}` at byte {at} is not an escape.")
        return Problem("invalid_json", path, f"Raw control character 0x{self.data[at]:02x} in a text, at byte {at}.")

    def key(self, at: int, path: Path) -> tuple[str, int]:
        """The name of a member, and the position of its value."""
        if match := PLAIN_KEY.match(self.data, at):
            return match[1].decode("ascii"), match.end()
        name, at = self.name(at, path)
        return name, self.colon(at, path)

    def name(self, at: int, path: Path) -> tuple[str, int]:
        if self.byte(at) != b'"':
            raise self.unexpected(at, path, "a field name in double quotes")
        return self.string(at, path)

    def colon(self, at: int, path: Path) -> int:
        at = self.space(at)
        if self.byte(at) != b":":
            raise self.unexpected(at, path, "`:`")
        return self.space(at + 1)

    def more(self, at: int, path: Path, closing: bytes) -> tuple[bool, int]:
        """Whether another member follows, and its position; or the position behind the closing bracket."""
        match = MORE.match(self.data, at)
        if match and match[1] == b",":
            return True, match.end()
        if match and match[1] == closing:
            return False, match.end(1)
        raise self.unexpected(self.space(at), path, f"`,` or `{closing.decode()}`")

    def skip(self, at: int, path: Path, level: int) -> int:
        """The position behind any valid value. Iterative: a million levels cost no stack."""
        open_: list[bytes] = []
        while True:
            token = self.token(at, path)
            end = token.end
            if token.kind == "text":
                end = self.string(at, path)[1]
            elif token.kind in ("an object", "an array"):
                if level + len(open_) >= MAX_LEVELS:
                    raise Problem("too_deep", path, f"More than {MAX_LEVELS} levels of nesting at byte {at}.")
                closing = b"}" if token.kind == "an object" else b"]"
                at = self.space(at + 1)
                if self.byte(at) != closing:
                    open_.append(closing)
                    at = self.key(at, path)[1] if closing == b"}" else at
                    continue
                end = at + 1
            another = False
            while open_ and not another:
                another, end = self.more(end, path, open_[-1])
                if not another:
                    open_.pop()
            if not open_:
                return end
            at = self.key(end, path)[1] if open_[-1] == b"}" else end
