"""The terminal that the view draws on, and whether there is one that it can draw on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console, ConsoleDimensions

from penstock.observe.live.words import ASCII, BLOCKS, Glyphs

LEAST_COLUMNS, LEAST_LINES = 40, 12
USUAL = ConsoleDimensions(80, 24)


def suits(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this is a terminal that can move its cursor, and large enough for a view."""
    if not stream.isatty() or environ.get("TERM", "dumb").lower() in ("dumb", "unknown", ""):
        return False
    columns, lines = size_of(stream)
    return columns >= LEAST_COLUMNS and lines >= LEAST_LINES


def size_of(stream: TextIO) -> ConsoleDimensions:
    """As it is now. A terminal that does not know is taken for the usual one."""
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except OSError:
        return USUAL
    return ConsoleDimensions(columns, lines) if columns and lines else USUAL


class Terminal(Console):
    """A console on a descriptor of its own: while the JVM starts, 1 and 2 are pointed at its log."""

    def __init__(self, stream: TextIO) -> None:
        own = os.fdopen(
            os.dup(stream.fileno()), "w", 1 << 16, encoding=stream.encoding, errors="backslashreplace", newline=""
        )
        super().__init__(
            file=own, force_terminal=True, force_interactive=True, markup=False, emoji=False, highlight=False
        )

    @property
    def size(self) -> ConsoleDimensions:
        return size_of(self.file)  # type: ignore[arg-type]  # rich says IO[str]

    @size.setter
    def size(self, _wished: tuple[int, int]) -> None:
        raise AttributeError("a terminal is as large as it is")

    @property
    def glyphs(self) -> Glyphs:
        try:
            "".join(BLOCKS).encode(self.encoding)
        except UnicodeEncodeError:
            return ASCII
        return BLOCKS
