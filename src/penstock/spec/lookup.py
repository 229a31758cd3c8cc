"""Finds what a person asks `describe` for: a section, a key, a type of value, the errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches

from penstock import errors
from penstock.options import IN_WORDS, NAME, Duration, Size
from penstock.secret import Secret
from penstock.spec.sections import Key, Section, plain, sections

TYPES = {
    "duration": Duration.__doc__ or "",
    "size": Size.__doc__ or "",
    "secret": Secret.__doc__ or "",
    "name": IN_WORDS[NAME],
}
"""Types of value that need more than their noun."""


@dataclass(frozen=True)
class Answer:
    """What was found: sections, or single keys, or one type of value."""

    sections: tuple[Section, ...] = ()
    keys: tuple[Key, ...] = ()
    text: str = ""


def look_up(asked: str) -> Answer | None:
    """What stands under this name: `sinks.delta`, `delta`, `pace`, `source.kafka.start`, `duration`, `errors`."""
    wanted = plain(asked.strip().strip("."))
    if wanted == "errors":
        return Answer(sections=(_errors(),))
    found = _found(lambda path: path == wanted) or _found(lambda path: path.endswith(f".{wanted}"))
    if wanted in TYPES:
        return replace(found or Answer(), text=f"{wanted}: {_one_line(TYPES[wanted])}")
    return found


def nearest(asked: str) -> list[str]:
    """Names of parts that were probably meant."""
    paths = [plain(section.path) for section in sections() if section.path]
    paths += [plain(key.path) for section in sections() for key in section.keys]
    names = dict.fromkeys([*paths, *(path.rpartition(".")[2] for path in paths), *TYPES, "errors"])
    return get_close_matches(plain(asked), list(names), n=1, cutoff=0.6)


def _found(fits: Callable[[str], bool]) -> Answer | None:
    found = tuple(section for section in sections() if section.path and fits(plain(section.path)))
    described = {section.path for section in found}
    keys = tuple(
        key
        for section in sections()
        for key in section.keys
        if fits(plain(key.path)) and (key.path not in described or not key.type.startswith("map"))
    )
    below = tuple(
        section for key in keys for section in sections() if _directly_below(plain(key.path), plain(section.path))
    )
    return Answer((*found, *(each for each in below if each not in found)), keys) if found or keys else None


def _directly_below(outer: str, inner: str) -> bool:
    return inner.rpartition(".")[0] == outer


def _errors() -> Section:
    """The errors that end a run, with the exit code of each."""
    known = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = [kind for kind in known if issubclass(kind, errors.PenstockError)]
    keys = (
        Key(kind.__name__, f"exit code {kind.exit_code}", "", False, _one_line(kind.__doc__ or "")) for kind in kinds
    )
    return Section("errors", _one_line(errors.__doc__ or ""), tuple(sorted(keys, key=lambda key: key.type)))


def _one_line(text: str) -> str:
    """The first paragraph, in one line."""
    return re.sub(r"\s+", " ", re.split(r"\n\s*\n", text.strip())[0])
