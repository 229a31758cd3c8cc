"""Values and numbers as one line of text: short, printable, unable to break what they stand in."""

from __future__ import annotations

from collections.abc import Iterable

WIDTH = 40


def one_line(value: str, width: int = WIDTH) -> str:
    """The value in at most so many characters; what cannot be printed is escaped, so that no line ends early."""
    text = printable(value[: width + 1])
    return text if len(text) <= width and len(value) <= width else text[: width - 3] + "..."


def printable(text: str) -> str:
    """The text with escapes for what cannot be printed, as Python and YAML's double quotes write them."""
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    code = ord(letter)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def share(part: int, whole: int) -> str:
    """`12 %`, `0.3 %`; never 0 % of something, never 100 % of less than all."""
    if not whole:
        return "0 %"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "under 0.1 %"
    if 99.9 < percent < 100:
        return "over 99.9 %"
    return f"{percent:.1f} %".replace(".0 %", " %")


def listed(items: Iterable[str], most: int = 5) -> str:
    """`a, b and 3 more`."""
    every = list(items)
    more = len(every) - most
    return ", ".join(every) if more <= 0 else f"{', '.join(every[:most])} and {more:,} more"


def size_in_words(size: int) -> str:
    """A size for a person."""
    for unit, of in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= of:
            return f"{size / of:.1f} {unit}"
    return f"{size} bytes"
