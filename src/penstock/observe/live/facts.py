"""What the view knows of a pipeline before anything happens: its own file says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.registry import sinks as sorts

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline


@dataclass(frozen=True)
class Facts:
    """A pipeline's names, as they are shown."""

    pipeline: str
    sinks: Mapping[str, str] = field(default_factory=dict)
    """Name -> sort, in the order in which they are written."""
    dead_letters: str = ""
    """Where rejected records go: a table's path or a topic."""
    every_seconds: float | None = None
    """The trigger's interval, None where batches follow one another."""

    @classmethod
    def of(cls, pipeline: Pipeline, *, once: bool = False) -> Facts:
        every = getattr(pipeline.trigger, "every", None)
        return cls(
            pipeline=pipeline.name,
            sinks={name: sorts.name_of(sink.to) for name, sink in pipeline.sinks.items()},
            dead_letters=_where(pipeline),
            every_seconds=None if once or every is None else every.seconds,
        )


def _where(pipeline: Pipeline) -> str:
    letters = pipeline.dead_letters
    topic = [f"topic {letters.kafka.topic}"] if letters.kafka is not None else []
    return " and ".join([*([str(letters.delta)] if letters.delta else []), *topic])
