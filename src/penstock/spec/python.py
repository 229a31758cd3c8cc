"""A wrong `Pipeline(...)` in Python: the same words as for a file, without lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from penstock.spec import words
from penstock.spec.problems import Path, Problem, spelled

WHERE = "Pipeline(...)"


def problems_of(error: ValidationError) -> Iterator[Problem]:
    """Every problem of a value that could not be made. What was given is not printed: it may be a secret."""
    lines: Any = error.errors(include_url=False, include_input=False)
    for line in lines:
        if line["type"] == "default_factory_not_called":  # follows from another problem
            continue
        path: Path = tuple(part for part in line["loc"] if part not in ("[key]", "to"))
        yield Problem(WHERE, 0, 0, spelled(path), *_said(line["type"], line.get("ctx", {}), path))


def _said(kind: str, ctx: dict[str, Any], path: Path) -> tuple[str, str]:
    if kind == "missing":
        return "is required, and missing.", ""
    if kind == "extra_forbidden":
        return "no such option.", ""
    inner = getattr(ctx.get("error"), "problems", None)
    if inner:
        return "; ".join(f"line {row}, column {column}: {message}" for row, column, message, _ in inner), inner[0][3]
    return words.said(kind, ctx, None, path)
