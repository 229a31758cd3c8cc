"""The pipeline file section by section, from the options models: what `describe` and the reference page show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from penstock.meanings import meanings
from penstock.pipeline import Pipeline
from penstock.spec.shape import SPREAD, Shape, about, fields_of, keys_of, shape_of
from penstock.spec.variables import FileKeys

_DEFAULT = re.compile(r"\s*Default:? (`[^`]+`[^.]*)\.")
"""A description may name a default that is worked out: it belongs into its own column."""


@dataclass(frozen=True)
class Key:
    """One setting: where it stands, what may be written there, and what it means."""

    path: str
    type: str
    default: str
    """As a file would spell it; empty if there is none."""
    required: bool
    meaning: str

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def standing(self) -> str:
        """`required`, the default, or `none`."""
        return "required" if self.required else self.default or "none"


@dataclass(frozen=True)
class Section:
    """The settings of one part."""

    path: str
    """`source.kafka`, `sinks.NAME.delta`, `checks[]`; empty for the top level."""
    about: str
    keys: tuple[Key, ...]

    @property
    def title(self) -> str:
        return self.path or "Top level"

    def as_json(self) -> dict[str, Any]:
        return {"part": plain(self.path), "about": self.about, "keys": [asdict(key) for key in self.keys]}


def plain(path: str) -> str:
    """The path without the places of lists and the names that people choose: `sinks.delta`, `checks.rule`."""
    return ".".join(part for part in path.replace("[]", "").split(".") if part != "NAME")


@cache
def sections() -> tuple[Section, ...]:
    """Every section, in the order of a file."""
    return tuple(_sections("", Pipeline))


def _sections(path: str, model: type[BaseModel]) -> Iterator[Section]:
    yield Section(path, about(model), tuple(_keys(path, model)))
    for key, shape in keys_of(model).items():
        for under, inner in _inside(f"{path}.{key}" if path else key, shape):
            yield from _sections(under, inner)


def _inside(path: str, shape: Shape) -> Iterator[tuple[str, type[BaseModel]]]:
    """The models whose settings stand at or below this path."""
    if shape.sort == "settings" and shape.model is not None:
        yield path, shape.model
    elif shape.sort == "choice" and shape.kind is not None:
        yield from ((f"{path}.{word}", shape.kind[word]) for word in shape.kind)
    elif shape.sort in ("list", "map"):
        yield from _inside(f"{path}[]" if shape.sort == "list" else f"{path}.NAME", shape.inner[-1])
    else:
        for each in shape.inner:
            yield from _inside(path, each)


def _keys(path: str, model: type[BaseModel]) -> Iterator[Key]:
    prefix = f"{path}." if path else ""
    field = model.model_fields.get(SPREAD)
    kind = shape_of(field).kind if field else None
    for word in kind or ():
        assert kind is not None
        yield Key(f"{prefix}{word}", "map, see below", "exactly one sort", False, about(kind[word]))
    for each in (model, FileKeys) if model is Pipeline else (model,):
        yield from (_key(f"{prefix}{key}", field, meanings(each)[key]) for key, field in fields_of(each))


def _key(path: str, field: FieldInfo, told: str) -> Key:
    return Key(path, shape_of(field).spoken(), _default(field, told), field.is_required(), _DEFAULT.sub("", told))


def _default(field: FieldInfo, told: str) -> str:
    """The default as a file would spell it."""
    if named := _DEFAULT.search(told):
        return named[1]
    default = None if field.is_required() or field.default_factory is not None else field.default
    if isinstance(default, BaseModel):
        dumped = default.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return "`{" + ", ".join(f"{key}: {value}" for key, value in dumped.items()) + "}`" if dumped else "see below"
    if default is None or default in ((), ""):
        return "see below" if shape_of(field).sort == "settings" and field.default_factory else ""
    return f"`{getattr(default, 'text', default)}`"
