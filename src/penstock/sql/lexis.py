"""The quotes and comments of a SQL text, as Spark's own lexer sees them.

sqlglot's tokens are held against these: what one of the two takes for a comment or a text in quotes and the other for
code would pass the guard unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_QUOTED = re.compile(
    r"""(?P<raw>\b[rR](?:'[^']*'|"[^"]*")) | (?P<quoted>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`]|``)*`)""",
    re.DOTALL | re.VERBOSE,
)
_LINE = re.compile(r"--(?:\\\n|[^\r\n])*")
_OPENING = re.compile(r"""['"`]|\b[rR]['"]|--|/\*""")
_EDGE = re.compile(r"/\*|\*/")


class Span(NamedTuple):
    """Characters from `start` up to, without, `end`."""

    start: int
    end: int
    comment: bool


class Unclosed(Exception):
    """A quote or comment that begins at `at` never ends."""

    def __init__(self, at: int, mark: str) -> None:
        super().__init__(mark)
        self.at, self.mark = at, mark


def spans(text: str) -> Iterator[Span]:
    """Every text in quotes and every comment, in order. Raises Unclosed."""
    opening = _OPENING.search(text)
    while opening:
        start, mark = opening.start(), opening.group()
        if mark == "--":
            end, comment = _matched(_LINE, text, start, mark), True
        elif mark == "/*":
            end, comment = _bracketed(text, start), True
        else:
            end, comment = _matched(_QUOTED, text, start, mark[-1]), False
        yield Span(start, end, comment)
        opening = _OPENING.search(text, end)


def _matched(pattern: re.Pattern[str], text: str, start: int, mark: str) -> int:
    match = pattern.match(text, start)
    if match is None:
        raise Unclosed(start, mark)
    return match.end()


def _bracketed(text: str, start: int) -> int:
    """The end of a comment in `/* */`, which may hold others."""
    level, at = 0, start
    while edge := _EDGE.search(text, at):
        level, at = level + (1 if edge.group() == "/*" else -1), edge.end()
        if level == 0:
            return at
    raise Unclosed(start, "/*")
