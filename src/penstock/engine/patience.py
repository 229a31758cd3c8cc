"""Patience: what time can cure is waited for, and said once; what it cannot ends the run."""

from __future__ import annotations

import threading
import time

from penstock.errors import PenstockError, TableChanged
from penstock.observe.events import Emit, Recovered, Waiting

FIRST_SECONDS, MOST_SECONDS = 1.0, 30.0
MOST_CHANGES = 5
"""How often a batch is computed again because a table keeps changing under it."""


class Patience:
    """Counts the tries of one outage. Progress ends it."""

    def __init__(self, pipeline: str, emit: Emit, stopping: threading.Event, limit_seconds: float | None) -> None:
        self.pipeline, self.emit, self.stopping, self.limit = pipeline, emit, stopping, limit_seconds
        self._since: float | None = None
        self._tries = 0

    def wait(self, error: PenstockError) -> None:
        """Pause before the next try; raises the error when there is no point in going on."""
        self._tries += 1
        pause = min(MOST_SECONDS, FIRST_SECONDS * 2 ** (self._tries - 1))
        spent = self.begin(error.what, pause)
        if isinstance(error, TableChanged) and self._tries > MOST_CHANGES:
            raise error
        if self.limit is not None and spent > self.limit:
            raise error
        self.stopping.wait(pause)

    def begin(self, cause: str, pause: float) -> float:
        """Something is away: said once for each outage. Gives the seconds that the outage has lasted."""
        if self._since is None:
            self._since = time.monotonic()
            self.emit(Waiting(pipeline=self.pipeline, cause=cause, pause_seconds=pause, attempt=1))
        return time.monotonic() - self._since

    def ease(self) -> None:
        """Things work again."""
        if self._since is not None:
            self.emit(Recovered(pipeline=self.pipeline, after_seconds=round(time.monotonic() - self._since, 1)))
        self._since, self._tries = None, 0
