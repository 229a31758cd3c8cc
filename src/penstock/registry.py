"""Kind and name -> options model: how the pipeline file's words find the parts that do the work.

A part registers its options model; the model's own methods build the part (lazily, so that reading a file needs
no Spark). A part of ours is found by the line that registers it, in any file of its kind's package: nothing else needs
to be told of it. Parts that live elsewhere register themselves when they are imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

from penstock.options import Options

Model = TypeVar("Model", bound=type[Options])


class Kind:
    """One sort of part (source, format, sink): a table of names and the options model of each."""

    def __init__(self, noun: str, package: str) -> None:
        self.noun, self.package = noun, package
        self._models: dict[str, type[Options]] = {}

    def register(self, name: str) -> Callable[[Model], Model]:
        """Class decorator: `@sinks.register("delta")`. A name is taken once."""

        def take(model: Model) -> Model:
            if name in self._models:
                raise ValueError(f"there is already a {self.noun} named {name!r}: {self._models[name]}")
            self._models[name] = model
            return model

        return take

    def name_of(self, options: Any) -> str:
        """The word under which the model of these options is registered."""
        for name, model in self._models.items():
            if type(options) is model:
                return name
        raise KeyError(f"{type(options).__name__} is not the options model of any {self.noun}")

    def holds(self, value: object) -> bool:
        return any(type(value) is model for model in self._models.values())

    def __getitem__(self, name: str) -> type[Options]:
        if name not in self:
            raise KeyError(f"there is no {self.noun} named {name!r}")
        return self._models[name]

    def get(self, name: object) -> type[Options] | None:
        return self._models[name] if isinstance(name, str) and name in self else None

    def __contains__(self, name: object) -> bool:
        if name not in self._models and name in self._homes:
            importlib.import_module(self._homes[str(name)])
        return name in self._models

    def __iter__(self) -> Iterator[str]:
        """Every name. No part is imported for that: error texts ask for it, and they must be quick too."""
        return iter(sorted({*self._models, *self._homes}))

    @cached_property
    def _homes(self) -> dict[str, str]:
        """Name -> module of every part in our own package, read from the `@....register("name")` lines."""
        package = importlib.import_module(self.package)
        homes: dict[str, str] = {}
        for module in pkgutil.iter_modules(package.__path__, f"{self.package}."):
            source = _source(module.name)
            homes |= dict.fromkeys(re.findall(r'^@\w+\.register\("(\w+)"\)', source, re.MULTILINE), module.name)
        return homes


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    read = getattr(spec.loader, "get_source", None) if spec else None
    return (read(module) if read else None) or ""


sources = Kind("source", "penstock.sources")
formats = Kind("format", "penstock.formats")
sinks = Kind("sink", "penstock.sinks")
