"""Which options model stands at a path of the file, and which keys it knows."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from penstock.choice import Choice, did_you_mean
from penstock.pipeline import Pipeline, Sink
from penstock.registry import sinks
from penstock.spec.problems import Path

PYTHON_ONLY = {"folder", "to"}
"""Keywords of Python's classes that are no keys of a file."""


def no_such_option(path: Path) -> tuple[str, str]:
    """Message and remedy for a key that nothing knows: the nearest one, or the list of those that are known here."""
    near = nearest(path)
    if near:
        return f"no such option. Did you mean `{near}`?", ""
    return "no such option.", did_you_mean("", _known(path[:-1])).strip()


def nearest(path: Path) -> str:
    """The known key that this unknown one was probably meant to be, or nothing."""
    if path == ("name",):
        return "pipeline"
    near = get_close_matches(str(path[-1]), _known(path[:-1]), n=1, cutoff=0.7)
    return near[0] if near else ""


def description(path: Path) -> str:
    """What the setting at this path means."""
    for name, field in _fields(model_at(path[:-1])).items():
        if (field.alias or name) == path[-1]:
            return field.description or ""
    return ""


def bare_word(path: Path) -> str:
    """The word alone, if the path names a part that needs no settings: `raw` of `decode: {raw: }`."""
    field = _fields(model_at(path[:-2])).get(str(path[-2])) if len(path) > 1 else None
    if field is None or not any(isinstance(mark, Choice) for mark in field.metadata):
        return ""
    model = model_at(path)
    return str(path[-1]) if model and not any(each.is_required() for each in model.model_fields.values()) else ""


def model_at(path: Path) -> type[BaseModel] | None:
    """The options model whose settings stand at this path, or None."""
    model: type[BaseModel] | None = Pipeline
    rest = list(path)
    while rest and model is not None:
        field = Sink.model_fields["to"] if model is Sink else _fields(model).get(str(rest.pop(0)))
        model = None if field is None else _below(field, rest)
    return model


def _below(field: FieldInfo, rest: list[str | int]) -> type[BaseModel] | None:
    """The model that a field holds; a choice's word or a map's key is taken off the path."""
    for mark in field.metadata:
        if isinstance(mark, Choice):
            return mark.kind.get(rest.pop(0)) if rest else None
    held: list[Any] = [field.annotation, *get_args(field.annotation)]
    models = [each for each in held if isinstance(each, type) and issubclass(each, BaseModel)]
    if get_origin(field.annotation) is dict and rest:
        rest.pop(0)
    return models[0] if models else None


def _known(path: Path) -> list[str]:
    model = model_at(path)
    names = [field.alias or name for name, field in _fields(model).items()]
    return [name for name in [*(sinks if model is Sink else ()), *names] if name not in PYTHON_ONLY]


def _fields(model: type[BaseModel] | None) -> dict[str, FieldInfo]:
    return {} if model is None else dict(model.model_fields)
