"""Words, marks and places: the first half of reading a schema text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
      | (?P<name>`(?:[^`]|``)*`)
      | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
      | (?P<word>\w+)
      | (?P<mark>[<>(),:])
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class Token(NamedTuple):
    """One token; `kind` is name (in backticks), text, word, mark, other or end."""

    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return "the end of the schema" if self.kind == "end" else f"`{self.text[:40].strip('`')}`"


def tokens(text: str) -> Iterator[Token]:
    """Every token of the text, and one `end` after the last."""
    for match in TOKEN.finditer(text):
        if match.lastgroup != "space":
            yield Token(match.lastgroup or "other", match[0], match.start())
    yield Token("end", "", len(text.rstrip()))


def place(text: str, at: int) -> tuple[int, int]:
    """Line and column, both from 1, of a position in the text."""
    start = text.rfind("\n", 0, at) + 1
    return text.count("\n", 0, at) + 1, at - start + 1
