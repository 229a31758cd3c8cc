"""What was seen of a field, as plain values: the proposal and the reasons for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.formats.types import Field, Type

Path = tuple[str, ...]
"""Names that lead to a field; `*` stands for the elements of an array and the values of a map."""


@dataclass(frozen=True)
class Shape:
    """A type for some values, or why there is none."""

    type: Type | None
    why: str = ""
    """Why no type was found."""
    misfits: int = 0
    """Values that this type would reject. What lies inside counts with the children."""
    notes: tuple[str, ...] = ()
    children: tuple[Evidence, ...] = ()
    """Fields of a STRUCT, or of the elements of an ARRAY or MAP, those left out too."""
    low: str = ""
    high: str = ""
    examples: tuple[str, ...] = ()
    """Values as they came; `one_line` makes them fit for showing."""
    counts: dict[str, int] = field(default_factory=dict)
    """Every distinct value -> how often, where there are few."""

    def noting(self, *notes: str) -> Shape:
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class Evidence:
    """One field: what is proposed for it and what was seen."""

    name: str
    path: Path
    of: int
    """Records (or objects around it) that could have it."""
    present: int
    nulls: int
    kinds: dict[str, int]
    shape: Shape
    required: bool
    """Present and not null in every one of enough records."""

    @property
    def type(self) -> Type | None:
        return self.shape.type

    @property
    def missing(self) -> int:
        """Records without a value for it: absent, or null."""
        return self.of - self.present + self.nulls

    def field(self) -> Field:
        """The proposal. Only for fields that are not left out."""
        assert self.type is not None
        return Field(self.name, self.type, nullable=not self.required)

    def left_out(self, why: str) -> Evidence:
        return replace(self, shape=replace(self.shape, type=None, why=why))

    def misfits(self) -> int:
        """Values, here and below, that the proposal would reject. What is left out rejects nothing."""
        return 0 if self.type is None else self.shape.misfits + sum(child.misfits() for child in self.shape.children)

    def as_data(self) -> dict[str, Any]:
        """For `--json`."""
        told: dict[str, Any] = {
            "field": pointer(self.path),
            "type": None if self.type is None else str(self.type),
            "not_null": self.required and self.type is not None,
            "of": self.of,
            "present": self.present,
            "nulls": self.nulls,
            "kinds": self.kinds,
            "misfits": self.shape.misfits if self.type is not None else 0,
            "left_out": self.shape.why or None,
            "low": self.shape.low or None,
            "high": self.shape.high or None,
            "distinct": self.shape.counts or None,
            "examples": list(self.shape.examples),
            "notes": list(self.shape.notes),
        }
        return {**told, "fields": [child.as_data() for child in self.shape.children]}


def pointer(path: Path) -> str:
    """As the decoder tells a field, with `*` for any element."""
    return "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)


def kept(fields: tuple[Evidence, ...]) -> list[Evidence]:
    return [each for each in fields if each.type is not None]


def all_of(fields: tuple[Evidence, ...]) -> Iterator[Evidence]:
    """These fields and all inside them, left out or not; not what lies inside of one that is left out."""
    for each in fields:
        yield each
        if each.type is not None:
            yield from all_of(each.shape.children)
