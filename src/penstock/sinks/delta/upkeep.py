"""Checkpoints of a table's log, written beside the run: a process of its own, at low priority, now and then.

Without checkpoints a reader would have to read every commit since the first. A checkpoint lists every file of the
table, so it costs more the larger the table is. Hence it is not the commit's business, and the larger the last one was,
the longer the next one waits.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import IO, NamedTuple

from penstock.sinks.delta.tail import Checkpointed

INTERVAL = "delta.checkpointInterval"
COMMITS = 100
"""Fewest commits between two checkpoints, where the table does not say: as delta-rs does it."""
GROWTH = 8
"""The commits after a checkpoint must have an eighth of its bytes before the next one. So what checkpoints cost, in
time and on disk, is in proportion to what is committed, however large the table is; and what a reader has to read
beside the checkpoint is in proportion to the checkpoint."""
START_SECONDS, BYTES_PER_SECOND = 0.5, 20_000_000
"""CPU-seconds that a process with delta-rs takes to start, and what it writes in one: measured on 200,000 files."""
SHARE = 50
"""Of this many seconds, at most one goes into checkpoints."""
AGAIN_SECONDS = 60
"""How long the next one waits when one has failed."""
CHILD = "penstock.sinks.delta.checkpoint"


class Need(NamedTuple):
    """What decides whether a checkpoint is due."""

    version: int
    interval: int
    last: Checkpointed

    def is_due(self, now: float) -> bool:
        """Has enough been committed, and enough time passed, since the last one?"""
        if self.version - self.last.version < self.interval or self.last.since < self.last.size / GROWTH:
            return False
        return now - self.last.seconds >= SHARE * (START_SECONDS + self.last.size / BYTES_PER_SECOND)


class Upkeep:
    """One table's. Starts a process where one is due, and never waits for it."""

    def __init__(self, table: str) -> None:
        self.table = table
        self._child: subprocess.Popen[bytes] | None = None
        self._words: IO[bytes] | None = None
        self._not_before = 0.0
        self._trouble = _Once()

    def see_to(self, version: int, configuration: dict[str, str], last: Checkpointed) -> None:
        """Start a checkpoint if one is due and none is under way."""
        if self._busy() or time.monotonic() < self._not_before:
            return
        if Need(version, interval(configuration), last).is_due(time.time()):
            self._start()

    def trouble(self) -> str:
        """Why no checkpoint could be written, where that was not said before; else nothing."""
        cause = self._trouble.news()
        return cause and (
            f"no checkpoint of the log of {self.table} could be written: {cause}. The rows are there; until one "
            "succeeds, readers read every commit since the last. It is tried again in a minute"
        )

    def wait(self, seconds: float) -> int | None:
        """How the checkpoint under way ended; None if none is, or it takes longer."""
        try:
            return self._child.wait(seconds) if self._child else None
        except subprocess.TimeoutExpired:
            return None

    def _start(self) -> None:
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  it is read when the process has ended
        self._child = subprocess.Popen(
            [sys.executable, "-m", CHILD, self.table],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._words,
            start_new_session=True,  # Ctrl-C is for the run; a checkpoint that is half done would be lost
            env={**os.environ, "PYTHONSAFEPATH": "1"},  # no module of the folder that the run was started in
        )

    def _busy(self) -> bool:
        if self._child is None:
            return False
        ended = self._child.poll()
        if ended is None:
            return True
        self._child = None
        self._not_before = time.monotonic() + AGAIN_SECONDS if ended else 0.0
        self._trouble.now(self._last_words() or f"it ended with {ended}" if ended else "")
        return False

    def _last_words(self) -> str:
        """The last line that the process wrote: of a traceback, the error."""
        if self._words is None:
            return ""
        with self._words as words:
            words.seek(0)
            lines = words.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


class _Once:
    """What is wrong, said once for as long as it stays the same."""

    def __init__(self) -> None:
        self._text = self._said = ""

    def now(self, text: str) -> None:
        self._text = text
        self._said = self._said if text else ""

    def news(self) -> str:
        if self._text == self._said:
            return ""
        self._said = self._text
        return self._text


def interval(configuration: dict[str, str]) -> int:
    """How many commits the table wants between two checkpoints."""
    asked = configuration.get(INTERVAL, "").strip()
    return int(asked) if asked.isdecimal() and int(asked) else COMMITS
