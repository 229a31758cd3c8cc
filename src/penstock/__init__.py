"""penstock: Kafka to the lakehouse on Spark, exactly once.

The names below are the public ones; everything else may change without notice. They are loaded when they are first
used, so that `import penstock` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock import errors
    from penstock.alarms import Alert, Webhook
    from penstock.formats.json import Json
    from penstock.formats.raw import Raw
    from penstock.observing import Observe
    from penstock.pacing import Pace
    from penstock.pipeline import DeadLetters, DeadLetterTopic, Pipeline, Sink
    from penstock.sinks.delta import Delta
    from penstock.sinks.kafka import Topic
    from penstock.sources.options import Kafka
    from penstock.spec import load_pipeline
    from penstock.stages import Check, Step
    from penstock.triggers import Every, RealTime

_HOME = {
    "Alert": "penstock.alarms",
    "Check": "penstock.stages",
    "DeadLetterTopic": "penstock.pipeline",
    "DeadLetters": "penstock.pipeline",
    "Delta": "penstock.sinks.delta",
    "Every": "penstock.triggers",
    "Json": "penstock.formats.json",
    "Kafka": "penstock.sources.options",
    "Observe": "penstock.observing",
    "Pace": "penstock.pacing",
    "Pipeline": "penstock.pipeline",
    "Raw": "penstock.formats.raw",
    "RealTime": "penstock.triggers",
    "Sink": "penstock.pipeline",
    "Step": "penstock.stages",
    "Topic": "penstock.sinks.kafka",
    "Webhook": "penstock.alarms",
    "load_pipeline": "penstock.spec",
}

__all__ = [
    "Alert",
    "Check",
    "DeadLetterTopic",
    "DeadLetters",
    "Delta",
    "Every",
    "Json",
    "Kafka",
    "Observe",
    "Pace",
    "Pipeline",
    "Raw",
    "RealTime",
    "Sink",
    "Step",
    "Topic",
    "Webhook",
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
