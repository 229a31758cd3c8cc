"""Seconds per numbered step of a batch."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from penstock import failpoints


class Clock:
    """Measures the steps of one batch; each step has a failpoint before and after it."""

    def __init__(self, on_step: Callable[[str], None] | None = None) -> None:
        self.on_step = on_step
        """Told the name of each step as it begins."""
        self.phases: dict[str, float] = {}
        self.started = time.monotonic()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        if self.on_step is not None:
            self.on_step(name)
        began = time.monotonic()
        with failpoints.around(name):
            yield
        self.phases[name] = round(time.monotonic() - began, 4)

    @property
    def seconds(self) -> float:
        return round(time.monotonic() - self.started, 4)
