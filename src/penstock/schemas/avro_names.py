"""Named types of Avro files that stand beside one another in a folder: who defines which, and who needs whom.

A version of a subject is `<subject>/<number>.avsc`. Every other `.avsc` in the folder holds types for all: in the
subject's own folder for this subject, elsewhere for everybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from penstock.errors import SchemaRefused
from penstock.formats.avro.schema import PRIMITIVES

NAMED = frozenset({"record", "error", "enum", "fixed"})
MOST_FILES = 1000
DEEPEST = 64


class Names(NamedTuple):
    """What a text defines, and what it needs: for each, the full names that it may have, the likely one first."""

    defined: frozenset[str]
    needed: tuple[tuple[str, ...], ...]


def names_in(text: str) -> Names:
    """Of a schema's text. One that is no JSON, or no schema, has none: whoever reads it says what is wrong."""
    try:
        found = list(_walk(json.loads(text), "", 0))
    except (ValueError, RecursionError):
        return Names(frozenset(), ())
    defined = frozenset(each for each in found if isinstance(each, str))
    needed = dict.fromkeys(each for each in found if isinstance(each, tuple))
    return Names(defined, tuple(each for each in needed if defined.isdisjoint(each)))


def _walk(body: Any, space: str, depth: int) -> Iterator[str | tuple[str, ...]]:
    """Names that are defined, as text; names that are used, as a tuple."""
    if depth > DEEPEST:
        return
    if isinstance(body, str):
        if body not in PRIMITIVES:
            yield (body,) if "." in body or not space else (f"{space}.{body}", body)
    elif isinstance(body, list):
        for each in body:
            yield from _walk(each, space, depth + 1)
    elif isinstance(body, dict):
        yield from _of_type(body, space, depth)


def _of_type(body: dict[str, Any], space: str, depth: int) -> Iterator[str | tuple[str, ...]]:
    kind, name = body.get("type"), body.get("name")
    if kind in NAMED and isinstance(name, str):
        own = body["namespace"] if isinstance(body.get("namespace"), str) else space
        full = name if "." in name or not own else f"{own}.{name}"
        yield full
        fields = body.get("fields")
        for field in fields if isinstance(fields, list) else ():
            if isinstance(field, dict):
                yield from _walk(field.get("type"), full.rpartition(".")[0], depth + 1)
    elif kind in ("array", "map"):
        yield from _walk(body.get("items" if kind == "array" else "values"), space, depth + 1)
    else:
        yield from _walk(kind, space, depth + 1)


@dataclass(frozen=True)
class Neighbours:
    """The files with named types that a schema of one subject may use."""

    folder: Path
    subject: Path
    """The folder of its versions."""
    read: Callable[[Path], str]

    def imported(self, text: str, path: Path) -> dict[str, str]:
        """Name -> text of what this schema needs, those that others need first. What nobody defines is left out."""
        wanted = names_in(text).needed
        made: dict[str, str] = {}
        if wanted:
            self._bring(wanted, made, (path,), self._definitions())
        return made

    def _bring(
        self,
        wanted: tuple[tuple[str, ...], ...],
        made: dict[str, str],
        above: tuple[Path, ...],
        known: dict[str, Path],
    ) -> None:
        for candidates in wanted:
            name = next((each for each in candidates if each in known), None)
            if name is None or str(known[name]) in made:
                continue
            path = known[name]
            if path in above:
                raise self._circle((*above[above.index(path) :], path))
            text = self.read(path)
            self._bring(names_in(text).needed, made, (*above, path), known)
            made[str(path)] = text

    def _definitions(self) -> dict[str, Path]:
        """Full name -> file. A file of the subject's own folder counts before one of the whole folder's."""
        found: dict[str, Path] = {}
        for near in (True, False):
            tier: dict[str, Path] = {}
            for path in self._files(near):
                for name in names_in(self.read(path)).defined:
                    if name in tier and self.read(tier[name]) != self.read(path):
                        raise self._twice(name, tier[name], path)
                    tier[name] = path
            found = {**tier, **found}
        return found

    def _files(self, near: bool) -> list[Path]:
        paths = [path for path in sorted(self.folder.rglob("*.avsc"))[:MOST_FILES] if not path.stem.isdecimal()]
        return [path for path in paths if (path.parent == self.subject) == near]

    def _circle(self, paths: tuple[Path, ...]) -> SchemaRefused:
        round_trip = " needs ".join(str(path.relative_to(self.folder)) for path in paths)
        return SchemaRefused(
            f"the Avro files of {self.folder} need one another in a circle: {round_trip}.",
            data="Nothing was read with them.",
            remedy="A record that holds itself, at any depth, fits no table: leave that field out.",
        )

    def _twice(self, name: str, one: Path, other: Path) -> SchemaRefused:
        return SchemaRefused(
            f"the Avro type `{name}` is defined twice, and differently: in {one} and in {other}.",
            data="Nothing was read with it.",
            remedy="Keep one of them, or give each subject its own, in the subject's folder.",
        )
