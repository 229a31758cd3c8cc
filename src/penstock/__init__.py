"""penstock: Kafka to the lakehouse on Spark, exactly once.

The names below are the public ones; everything else may change without notice. They are loaded when they are first
used, so that `import penstock` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock import errors
    from penstock.formats.json import Json
    from penstock.formats.raw import Raw
    from penstock.pipeline import DeadLetters, Every, Pace, Pipeline, Sink
    from penstock.sinks.delta import Delta
    from penstock.sources.options import Kafka
    from penstock.spec import load_pipeline

_HOME = {
    "DeadLetters": "penstock.pipeline",
    "Delta": "penstock.sinks.delta",
    "Every": "penstock.pipeline",
    "Json": "penstock.formats.json",
    "Kafka": "penstock.sources.options",
    "Pace": "penstock.pipeline",
    "Pipeline": "penstock.pipeline",
    "Raw": "penstock.formats.raw",
    "Sink": "penstock.pipeline",
    "load_pipeline": "penstock.spec",
}

__all__ = [
    "DeadLetters",
    "Delta",
    "Every",
    "Json",
    "Kafka",
    "Pace",
    "Pipeline",
    "Raw",
    "Sink",
    "errors",
    "load_pipeline",
]


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("penstock.errors")
    if name not in _HOME:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
