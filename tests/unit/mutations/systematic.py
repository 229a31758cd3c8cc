"""Each key of the examples misspelt, written twice, and without a value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.unit.mutations.examples import CHOSEN, EXAMPLES
from tests.unit.mutations.mistake import Mutation


def systematic() -> Iterator[Mutation]:
    """Each key misspelt, written twice, and without a value."""
    for example, text in EXAMPLES.items():
        for match in re.finditer(r"^( *)([a-z_]+):(.*)\n", text, re.MULTILINE):
            if match[2] not in CHOSEN:
                yield from _of_one_key(f"{example}:{text.count(chr(10), 0, match.start()) + 1} {match[2]}", text, match)


def _of_one_key(name: str, text: str, match: re.Match[str]) -> Iterator[Mutation]:
    indent, key, value = match.groups()
    begin, line, end = match.start() + len(indent), match[0], match.end()
    if key != "every":
        misspelt = f"{text[: match.start()]}{indent}{key[:-1]}qx:{value}\n{text[end:]}"
        words = "there is no" if key in ("kafka", "json") and len(indent) == 2 else "no such option"
        yield Mutation(f"{name} misspelt", misspelt, begin, words)
    if value.strip() and not value.strip().startswith("|"):
        twice = f"{text[:end]}{indent}{key}: again\n{text[end:]}"
        yield Mutation(f"{name} twice", twice, begin + len(line), "is written twice", structural=False)
        empty = f"{text[: match.start()]}{indent}{key}:\n{text[end:]}"
        yield Mutation(f"{name} without a value", empty, begin, "has no value", structural=False)
