"""Plain maps, lists and scalars -> YAML text, laid out as a person would write it.

Small things stand in one line, the rest in lines of their own; text is quoted only where it must be.
"""

from __future__ import annotations

import re
from typing import Any

from penstock.spec.tree import ODD, resolved

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z0-9_./](?:[\w./:+@()-]*[\w./+@()-])?(?: [\w./+@<>=*()-]+)*", re.ASCII)
"""Text that needs no quotes anywhere, if YAML does not take it for a number or a word of its own."""


class Block(str):
    """A text that stands in lines of its own, below a `|`."""

    __slots__ = ()


def laid_out(tree: dict[str, Any]) -> str:
    """The file. The keys at the top begin at the left."""
    return "".join(_entry(key, value, 0) for key, value in tree.items())


def _entry(key: Any, value: Any, depth: int) -> str:
    pad, head = "  " * depth, _scalar(key)
    if isinstance(value, Block) and _fits_block(value):
        return f"{pad}{head}: {_block(value, depth + 1)}\n"
    line = f"{pad}{head}: {_flow(value)}"
    if _in_one_line(value, line, depth):
        return f"{line}\n"
    return f"{pad}{head}:\n{_below(value, depth + 1)}"


def _below(value: Any, depth: int) -> str:
    """A map or a list, in lines of its own."""
    if isinstance(value, dict):
        return "".join(_entry(key, each, depth) for key, each in value.items())
    return "".join(_item(each, depth) for each in value)


def _item(value: Any, depth: int) -> str:
    pad, line = "  " * depth, f"{'  ' * depth}- {_flow(value)}"
    if isinstance(value, Block) and _fits_block(value):
        return f"{pad}- {_block(value, depth + 1)}\n"
    if _in_one_line(value, line, depth):
        return f"{line}\n"
    return f"{pad}- {_below(value, depth + 1).removeprefix('  ' * (depth + 1))}"


def _in_one_line(value: Any, line: str, depth: int) -> bool:
    return not isinstance(value, dict | list) or not value or (_small(value, depth) and len(line) <= _WIDTH)


def _small(value: Any, depth: int) -> bool:
    """May this stand in one line? At the top only what holds nothing nested."""
    if not isinstance(value, dict | list) or not value:
        return True
    inner = list(value.values()) if isinstance(value, dict) else value
    if any(isinstance(each, Block) for each in inner):
        return False
    return all(_small(each, depth + 1) for each in inner) and (
        depth > 0 or not any(isinstance(each, dict | list) for each in inner)
    )


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_scalar(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(each) for each in value) + "]"
    return _scalar(value)


def _fits_block(text: str) -> bool:
    """Can these lines stand as they are? What YAML would read otherwise is quoted instead."""
    lines = text.removesuffix("\n").split("\n")
    return bool(lines[0]) and lines[0][0] != " " and bool(lines[-1]) and all(map(_fits_line, lines))


def _fits_line(line: str) -> bool:
    return line.isprintable() and (not line or bool(line.strip())) and not ODD.search(line)


def _block(text: str, depth: int) -> str:
    pad = "  " * depth
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(["|" if text.endswith("\n") else "|-", *(f"{pad}{line}" if line else "" for line in lines)])


def _scalar(value: Any) -> str:
    """A number or a text; quoted where it would be read as something else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    if odd := ODD.search(value):
        raise ValueError(f"a pipeline file cannot hold the character U+{ord(odd[0]):04X}")
    if _PLAIN.fullmatch(value) and isinstance(resolved(value), str):
        return value
    if ('"' in value or "\\" in value) and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    return "\\n" if letter == "\n" else f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else f"\\U{ord(letter):08x}"
