"""Asking for schemas that records name and nobody has met: for how long, how often, and what is taken as missing."""

from __future__ import annotations

import threading
import time

from penstock.errors import SchemaRefused, Unavailable
from penstock.pipeline import Pipeline
from penstock.schemas.cache import Kept
from penstock.schemas.contract import Schema

MOST_ASKED = 1000
"""Unknown ids that one batch asks for: random bytes must not become a flood of calls."""
MISSING_SECONDS = 60.0
"""How long an id that the registry does not know is taken as missing without asking again."""


class Asking:
    """Asks the registry of one pipeline, and remembers what it did not know."""

    def __init__(self, pipeline: Pipeline, registry: Kept, stopping: threading.Event) -> None:
        self.pipeline, self.registry, self.stopping = pipeline, registry, stopping
        self.waited: set[int] = set()
        """Ids that were waited for already: nobody waits twice in front of the same bytes."""
        self._missing: dict[int, float] = {}
        self._refused: dict[int, tuple[float, SchemaRefused]] = {}

    @property
    def missing(self) -> frozenset[int]:
        """Ids that the registry does not know, as of a little while ago."""
        now = time.monotonic()
        return frozenset(number for number, since in self._missing.items() if now - since < MISSING_SECONDS)

    @property
    def refused(self) -> dict[int, SchemaRefused]:
        """Ids whose schema the registry has and cannot give: files of a folder that do not fit together, above all.

        As of a little while ago, too: nothing of it is kept, so that a folder that was mended is read.
        """
        now = time.monotonic()
        return {number: why for number, (since, why) in self._refused.items() if now - since < MISSING_SECONDS}

    def found(self, numbers: set[int]) -> dict[int, Schema]:
        """The schemas that the registry has. What it has not, it gets some time for: it may be a replica behind.

        Raises Unavailable where it does not answer, or where the run is stopped meanwhile.
        """
        found: dict[int, Schema] = {}
        deadline = time.monotonic() + (self._wait_seconds if numbers - self.waited else 0.0)
        while True:
            found |= self._asked(numbers - set(found))
            left = numbers - set(found) - set(self.refused)
            pause = min(max(1.0, len(left) * 0.05), deadline - time.monotonic())
            if not left or pause <= 0:
                break
            if self.stopping.wait(pause):
                raise self._stopped(left)
        self._note(left)
        return found

    @property
    def _wait_seconds(self) -> float:
        registry = self.pipeline.registry
        return registry.unknown_id_wait.seconds if registry is not None else 0.0

    def _asked(self, numbers: set[int]) -> dict[int, Schema]:
        made = {}
        for number in sorted(numbers - set(self.refused)):
            try:
                made[number] = self.registry.by_id(number)
            except LookupError:
                continue
            except SchemaRefused as refused:
                self._refused[number] = time.monotonic(), refused
        return made

    def _note(self, left: set[int]) -> None:
        """Bounded: a topic full of random bytes must not fill the memory with numbers."""
        if len(self._missing) + len(left) > 10 * MOST_ASKED:
            self._missing.clear()
        self._missing |= dict.fromkeys(left, time.monotonic())
        self.waited = (self.waited if len(self.waited) < 10 * MOST_ASKED else set()) | left

    def _stopped(self, left: set[int]) -> Unavailable:
        """Nothing is rejected because somebody had no time to wait."""
        some = ", ".join(map(str, sorted(left)[:5]))
        return Unavailable(
            f"{self.pipeline.name}: stopped while it waited for the schema ids {some}, which {self.registry.place} "
            "does not know.",
            data="Nothing of this batch is visible; it comes again with the next run.",
        )
