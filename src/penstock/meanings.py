"""What a setting means stands below it in the source. It is read from there when somebody asks, not at every start."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

from pydantic import BaseModel


@cache
def meanings(model: type[BaseModel]) -> dict[str, str]:
    """Each key of this model -> what it means: the text below the field, of one declared anew the nearest."""
    told = {name: text for each in reversed(model.__mro__) if _has_fields(each, model) for name, text in _below(each)}
    fields = model.model_fields.items()
    return {field.alias or name: field.description or told.get(name, "") for name, field in fields}


def _has_fields(each: type, model: type[BaseModel]) -> bool:
    return not model.model_fields.keys().isdisjoint(vars(each).get("__annotations__", {}))


def _below(model: type) -> Iterator[tuple[str, str]]:
    """Each field of the class's own body that has a text below it."""
    [read] = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    assert isinstance(read, ast.ClassDef)
    for field, text in pairwise(read.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            match text:
                case ast.Expr(ast.Constant(str() as told)):
                    yield field.target.id, inspect.cleandoc(told)
