"""Advice that follows from what was measured, said once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.observe.events import Emit, Warned
from penstock.pace.hot import LONG_SECONDS, advice, hot
from penstock.pipeline import Pipeline
from penstock.ranges import Range


class Hints:
    """Looks at each batch of a query. A partition that is split already is left alone."""

    def __init__(self, pipeline: Pipeline, emit: Emit) -> None:
        self.pipeline, self.emit = pipeline, emit
        self._told: set[tuple[str, int]] = set()

    def look(self, ranges: Sequence[Range], seconds: float, slots: Callable[[], int]) -> None:
        """A batch took so long. `slots` is asked only where it matters."""
        if seconds < LONG_SECONDS or self.pipeline.source.task_rows is not None:
            return
        room = slots()
        part = hot(ranges, room, seconds)
        if part is None or (part.topic, part.partition) in self._told:
            return
        self._told.add((part.topic, part.partition))
        self.emit(Warned(pipeline=self.pipeline.name, text=advice(part, ranges, room, seconds)))
