"""Kind and name -> options model: how the pipeline file's words find the parts that do the work.

A part registers its options model; the model's own methods build the part (lazily, so that reading a file needs
no Spark). Built-ins and plugins come in by the same door.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from penstock.options import Options

Model = TypeVar("Model", bound=type[Options])


class Kind:
    """One sort of part (source, format, sink): a table of names and the options model of each."""

    def __init__(self, noun: str) -> None:
        self.noun = noun
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
        return next(name for name, model in self._models.items() if type(options) is model)

    def __getitem__(self, name: str) -> type[Options]:
        return self._models[name]

    def __contains__(self, name: object) -> bool:
        return name in self._models

    def __iter__(self) -> Iterator[str]:
        return iter(self._models)


sources = Kind("source")
formats = Kind("format")
sinks = Kind("sink")
