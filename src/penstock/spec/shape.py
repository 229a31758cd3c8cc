"""What may be written at each place of a pipeline file, read from the options models.

The one reader of the models: the reference page, `describe`, the writer of YAML, references in numbers and secrets,
and "did you mean" all ask here.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from penstock.choice import Choice
from penstock.options import Duration, Size
from penstock.paths import Relative
from penstock.pipeline import Pipeline
from penstock.registry import Kind
from penstock.secret import Secret
from penstock.spec.problems import Path

PYTHON_ONLY = {("Pipeline", "folder"), ("Sink", "to")}
"""Keywords of Python's classes, by class, that are no keys of a file."""
SPREAD = "to"
"""The field of a model whose choice stands beside the model's other keys: `{delta: {...}, where: ...}`."""
_PLAIN: dict[Any, tuple[str, str]] = {
    str: ("text", "text"),
    int: ("integer", "whole number"),
    float: ("number", "number"),
    bool: ("boolean", "true or false"),
    datetime: ("time", "UTC time"),
    Duration: ("duration", "duration"),
    Size: ("size", "size"),
    Secret: ("secret", "secret: one reference"),
}
_NOT_TEXT: dict[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float)}


@dataclass(frozen=True)
class Shape:
    """What may stand at one place."""

    sort: str
    """text, integer, number, boolean, time, duration, size, secret, words, list, map, settings, choice, or, any"""
    noun: str = ""
    inner: tuple[Shape, ...] = ()
    """Of a list: its items. Of a map: keys and values. Of `or`: each of them."""
    words: tuple[str, ...] = ()
    model: type[BaseModel] | None = None
    kind: Kind | None = None
    references: bool = True
    relative: bool = False
    """Is it a path that begins at the folder of the file?"""

    def below(self, part: str | int) -> Shape | None:
        """What may stand under this key, or at this place of a list."""
        if self.sort in ("list", "map"):
            return self.inner[-1]
        if self.sort == "choice" and self.kind is not None:
            model = self.kind.get(part)
            return Shape("settings", model=model) if model else None
        if self.sort == "settings" and self.model is not None:
            return keys_of(self.model).get(str(part))
        return next((found for each in self.inner if (found := each.below(part))), None)

    def each(self) -> tuple[Shape, ...]:
        """The shapes of which one must fit."""
        return self.inner if self.sort == "or" else (self,)

    def reads(self, value: object) -> bool:
        """Is this number or boolean wanted here, and text not?"""
        sorts = {shape.sort for shape in self.each()}
        return any(_is(sort, value) for sort in sorts) and not sorts & {"text", "any"}

    def spoken(self) -> str:
        """The type as a person says it."""
        if self.sort == "words":
            return " or ".join(f"`{word}`" for word in self.words)
        if self.sort == "choice":
            return "one of " + ", ".join(f"`{word}`" for word in self.kind or ())
        if self.sort == "list":
            return f"list of {self.inner[0].spoken()}"
        if self.sort == "map":
            return f"map {self.inner[0].spoken()} -> {self.inner[1].spoken()}"
        if self.sort == "or":
            return " or ".join(shape.in_a_row() for shape in self.inner)
        return "map, see below" if self.sort == "settings" else self.noun or "any value"

    def in_a_row(self) -> str:
        """The same among others: settings of one key are written out."""
        if self.sort == "settings" and self.model is not None and len(keys_of(self.model)) == 1:
            [(key, shape)] = keys_of(self.model).items()
            return f"`{{{key}: {shape.spoken()}}}`"
        return self.spoken()


def _is(sort: str, value: object) -> bool:
    """Is this a value of that sort, where text is none?"""
    if isinstance(value, bool):
        return sort == "boolean"
    return isinstance(value, _NOT_TEXT.get(sort, ()))


@cache
def keys_of(model: type[BaseModel]) -> dict[str, Shape]:
    """Key -> shape, as the file spells the keys: the words of a choice without a key of its own come first."""
    made: dict[str, Shape] = {}
    for name, field in model.model_fields.items():
        shape = shape_of(field)
        if name == SPREAD and shape.kind is not None:
            made |= {word: Shape("settings", model=shape.kind.get(word)) for word in shape.kind}
        elif (model.__name__, name) not in PYTHON_ONLY:
            made[field.alias or name] = shape
    return made


def fields_of(model: type[BaseModel]) -> Iterator[tuple[str, FieldInfo]]:
    """Key and field of every setting that a file can hold under a key of its own; of a part, required ones first."""
    only = {name for part, name in PYTHON_ONLY if part == model.__name__}
    fields = [(name, field) for name, field in model.model_fields.items() if name not in only]
    if model is not Pipeline:
        fields.sort(key=lambda each: not each[1].is_required())
    for name, field in fields:
        yield field.alias or name, field


def shape_of(field: FieldInfo) -> Shape:
    return _shape(field.annotation, tuple(field.metadata))


def shape_at(path: Path, root: type[BaseModel] = Pipeline) -> Shape | None:
    """What may stand at this path of a file, or None where nothing may."""
    shape: Shape | None = Shape("settings", model=root)
    for part in path:
        shape = shape.below(part) if shape else None
    return shape


def about(model: type[BaseModel]) -> str:
    """The first paragraph of a model's docstring, in one line."""
    return re.sub(r"\s+", " ", re.split(r"\n\s*\n", (model.__doc__ or "").strip())[0])


def _shape(kind: Any, marks: tuple[Any, ...] = ()) -> Shape:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _shape(inner[0], (*inner[1:], *marks))
    for mark in marks:
        if isinstance(mark, Choice):
            return Shape("choice", kind=mark.kind)
    if origin in (Union, types.UnionType):
        shapes = tuple(_shape(each, marks) for each in inner if each is not type(None))
        return shapes[0] if len(shapes) == 1 else Shape("or", inner=shapes)
    return _collection(origin, inner) or _scalar(kind, marks)


def _collection(origin: Any, inner: tuple[Any, ...]) -> Shape | None:
    if origin is Literal:
        return Shape("words", words=tuple(str(word) for word in inner))
    if origin in (tuple, list):
        return Shape("list", inner=(_shape(inner[0]),))
    if origin is dict:
        return Shape("map", inner=(_shape(inner[0]), _shape(inner[1])))
    return None


def _scalar(kind: Any, marks: tuple[Any, ...]) -> Shape:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return Shape("settings", model=kind)
    sort, noun = _PLAIN.get(kind, ("any", ""))
    relative = language = False
    for mark in marks:
        if isinstance(mark, Relative):
            relative, noun = True, mark.noun
        elif hasattr(mark, "noun"):
            noun, language = mark.noun, language or not getattr(mark, "references", False)
        elif isinstance(mark, StringConstraints) and mark.pattern:
            noun = "name"
    return Shape(sort, noun + _bounds(marks), references=not language, relative=relative)


def _bounds(marks: tuple[Any, ...]) -> str:
    """`, more than 0` and the like."""
    said = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}
    found = [(words, getattr(mark, name, None)) for name, words in said.items() for mark in marks]
    return "".join(f", {words} {bound}" for words, bound in found if isinstance(bound, int) and abs(bound) < 2**31 - 1)
