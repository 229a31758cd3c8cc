"""The reference of the pipeline file, made from the options models: one table for each section, as Markdown.

A key is described once, in its field. `scripts/reference.py` puts these tables into docs/pipeline-file.md; a test
fails when the page and the models disagree.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Gt
from pydantic import BaseModel, StringConstraints
from pydantic.fields import FieldInfo

from penstock.choice import Choice
from penstock.options import Duration, Options, Size
from penstock.paths import Relative
from penstock.pipeline import DeadLetters, Every, Pace, Pipeline
from penstock.registry import Kind, formats, sinks, sources
from penstock.spec.shape import PYTHON_ONLY

HEAD = "| key | type | default | meaning |\n|---|---|---|---|"
BEGIN, END = "<!-- made by scripts/reference.py: begin -->", "<!-- made by scripts/reference.py: end -->"
DEFAULT = re.compile(r"\s*Default:? (`[^`]+`)\.")
"""A description may name a default that is worked out: it belongs into its own column."""
WORDS: dict[Any, str] = {str: "text", int: "whole number", bool: "true or false", Duration: "duration", Size: "size"}


def tables() -> str:
    """Every section of the pipeline file, in the order of a file."""
    parts: list[tuple[str, type[Options], str]] = [("Top level", Pipeline, "")]
    parts += [(f"source.{name}", model, f"source.{name}.") for name, model in _models(sources)]
    parts += [(f"decode.{name}", model, f"decode.{name}.") for name, model in _models(formats)]
    parts += [(f"sinks.NAME.{name}", model, f"sinks.NAME.{name}.") for name, model in _models(sinks)]
    parts += [("dead_letters", DeadLetters, "dead_letters."), ("trigger", Every, "trigger."), ("pace", Pace, "pace.")]
    return "\n\n".join(section(title, model, under) for title, model, under in parts)


def page(text: str) -> str:
    """The page with fresh tables between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no place for the tables: it needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def section(title: str, model: type[Options], under: str) -> str:
    """One section: what it is, and a line for each key."""
    about = re.split(r"\n\s*\n", (model.__doc__ or "").strip())[0].replace("\n", " ")
    return "\n".join([f"### {title}", "", re.sub(r"\s+", " ", about), "", HEAD, *_lines(model, under)])


def _models(kind: Kind) -> list[tuple[str, type[Options]]]:
    return [(name, kind[name]) for name in kind]


def _lines(model: type[Options], under: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if name not in PYTHON_ONLY:
            meaning = DEFAULT.sub("", field.description or "")
            cells = (f"`{under}{field.alias or name}`", type_of(field), default_of(field), meaning)
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def type_of(field: FieldInfo) -> str:
    """The type as a person says it."""
    for mark in field.metadata:
        if isinstance(mark, Choice):
            return "one of " + ", ".join(f"`{name}`" for name in mark.kind)
        if isinstance(mark, Relative):
            return "path"
        if isinstance(mark, StringConstraints) and mark.pattern:
            return "name"
        if isinstance(mark, Gt):
            return f"{spoken(field.annotation)}, more than {mark.gt}"
    return spoken(field.annotation)


def spoken(kind: Any) -> str:
    """An annotation in words."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return "name" if any(getattr(mark, "pattern", None) for mark in inner[1:]) else spoken(inner[0])
    if origin is Literal:
        return " or ".join(f"`{word}`" for word in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(spoken(each) for each in inner if each is not type(None))
    if origin in (tuple, dict):
        head = "list of " if origin is tuple else f"map {spoken(inner[0])} -> "
        return head + spoken(inner[0 if origin is tuple else 1])
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "`{every: duration}`" if kind is Every else "map, see below"
    return WORDS.get(kind, "UTC time")


def default_of(field: FieldInfo) -> str:
    """The default as a file would spell it."""
    if told := DEFAULT.search(field.description or ""):
        return told[1]
    if field.is_required():
        return "required"
    default = field.default if field.default_factory is None else None
    if isinstance(default, Every):
        return f"`{{every: {default.every.text}}}`"
    if isinstance(default, Pace) or field.annotation is DeadLetters:
        return "see below"
    if default is None or default == ():
        return "none"
    return f"`{getattr(default, 'text', default)}`"
