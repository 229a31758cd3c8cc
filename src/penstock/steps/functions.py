"""The user's own functions: found by `module:function`, first in the pipeline file's folder."""

from __future__ import annotations

import importlib
import sys
import typing
from collections.abc import Callable
from functools import cache
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from penstock.errors import StepRefused

Takes = Literal["arrow", "spark"]
NOTHING = "Nothing was written."


@cache
def find(reference: str, folder: str) -> Callable[[Any], Any]:
    """The function that `module:function` names."""
    module_name, _, name = reference.partition(":")
    _let_go(module_name, folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise StepRefused(
            f"python step {reference}: the module cannot be imported: {type(error).__name__}: {error}",
            data=NOTHING,
            remedy=f"It is looked for in {folder} first, then among the installed packages.",
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise StepRefused(
            f"python step {reference}: {module.__file__} has no function `{name}`.", data=NOTHING, remedy="Correct it."
        )
    return typing.cast(Callable[[Any], Any], function)


def takes(reference: str, folder: str) -> Takes:
    """What the function's first parameter is annotated to be: an Arrow batch, or a Spark DataFrame."""
    function = find(reference, folder)
    parameters = list(signature(function).parameters.values())
    kinds: dict[str, Takes] = {"pyarrow.lib.RecordBatch": "arrow", "pyspark.sql.DataFrame": "spark"}
    if parameters:
        hint = _hint(function, parameters[0].name)
        for name, kind in kinds.items():
            if hint.endswith(name.rpartition(".")[2]):
                return kind
    raise StepRefused(
        f"python step {reference}: its first parameter says neither `pyarrow.RecordBatch` nor `pyspark.sql.DataFrame`.",
        data=NOTHING,
        remedy="Annotate it:  def normalise(rows: pyarrow.RecordBatch) -> pyarrow.RecordBatch:",
    )


def source_of(reference: str, folder: str) -> str:
    """The text of the function's module: another text is other code."""
    file = getattr(sys.modules.get(find(reference, folder).__module__), "__file__", None)
    return Path(file).read_text(encoding="utf-8", errors="replace") if file else ""


def _hint(function: Callable[..., Any], parameter: str) -> str:
    """The annotation as text. It may be text already, or a class that is only imported for type checkers."""
    written = getattr(function, "__annotations__", {}).get(parameter, "")
    return written if isinstance(written, str) else getattr(written, "__qualname__", str(written))


def _let_go(module: str, folder: str) -> None:
    """Forget a module of that name from another pipeline's folder: each pipeline gets its own."""
    root = module.partition(".")[0]
    loaded = getattr(sys.modules.get(root), "__file__", None)
    ours = [Path(folder, root), Path(folder, f"{root}.py")]
    if loaded and any(path.exists() for path in ours) and Path(folder) not in Path(loaded).parents:
        for name in [name for name in sys.modules if name == root or name.startswith(f"{root}.")]:
            del sys.modules[name]
