"""A pipeline file with one mistake: what was changed, where it is told, in which words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tests.unit.mutations.examples import EXAMPLES

ByHand = tuple[str, str, str, str, str, str] | tuple[str, str, str, str, str, str, bool]
"""Name, example, what was there, what is there instead, where that is told, in which words; False: not by a schema."""


class Mutation(NamedTuple):
    """One mistake."""

    name: str
    text: str
    at: str | int
    """Where the mistake is told: at the first occurrence of this text, or so far into the file; empty: in no line."""
    words: str
    structural: bool = True
    """Could a JSON Schema see it? It knows keys, types, words and forms, and not what they mean together."""

    @property
    def place(self) -> str:
        """`:12:5`, or nothing."""
        if self.at == "":
            return ""
        before = self.text[: self.at if isinstance(self.at, int) else self.text.index(self.at)]
        return f":{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}"


def changed(example: str, old: str, new: str) -> str:
    assert old in EXAMPLES[example], f"{example} has no {old!r}"
    return EXAMPLES[example].replace(old, new, 1)


def made(mistakes: Iterable[ByHand]) -> Iterator[Mutation]:
    for name, example, old, new, *rest in mistakes:
        yield Mutation(name, changed(example, old, new), *rest)
