"""The view itself: listens to events, and draws what they come to, four times a second at most.

Events come from Spark's callback thread and from the main thread; a thread of the view's own does all the drawing, so
that a terminal that is held (Ctrl-S) or slow holds up nobody else. If drawing fails, plain lines take over.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import closing, suppress
from types import TracebackType
from typing import Self, TextIO

from penstock.observe.events import Event, RunStarted
from penstock.observe.live.facts import Facts
from penstock.observe.live.head import finishing
from penstock.observe.live.pen import Draw, Pen
from penstock.observe.live.render import render
from penstock.observe.live.state import State, worth_a_line
from penstock.observe.live.summary import summary
from penstock.observe.logs import plain_line, stamped

TICK_SECONDS = 0.25
QUIET_SECONDS = 1.0
"""A run that is refused at once shows its error, and no empty view above it."""
CLOSE_SECONDS = 5.0
MOST_LINES = 1000
"""Lines that wait for a terminal that is held or gone."""


class View:
    """`with View(...) as view:` draws while the block runs; `view.emit` takes the events."""

    def __init__(self, facts: Facts, stopping: threading.Event, stream: TextIO, draw: Draw = render) -> None:
        self.state = State(facts, time.monotonic())
        self._stopping = stopping
        self._pen = Pen(stream, draw)
        self._lock = threading.Lock()  # never taken by a signal's handler
        self._lines: deque[str] = deque(maxlen=MOST_LINES)
        self._taken: list[str] = []
        """Lines that are being drawn: if that fails, they are still to be written."""
        self._plain = False
        self._error: Exception | None = None
        self._heard, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="penstock-view", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self.state = self.state.ended("failed" if error else "ended", time.monotonic())
        self._over.set()
        self._heard.set()
        self._thread.join(CLOSE_SECONDS)  # a terminal that is held does not hold the process

    def emit(self, event: Event) -> None:
        """Take note. No terminal is touched here, and nothing that goes wrong here reaches the run."""
        with self._lock:
            try:
                self._note(event)
            except Exception as error:
                self._error = self._error or error
        self._heard.set()

    def _note(self, event: Event) -> None:
        if self._plain or worth_a_line(event) or isinstance(event, RunStarted):
            line = plain_line(event)
            self._lines += [line] if line else []
        if self._error is None:
            self.state = self.state.after(event, time.monotonic())

    def _work(self) -> None:
        with suppress(OSError), closing(self._pen):  # a terminal that is gone has nobody who reads
            try:
                self._draw()
            except Exception as error:
                self._write_plainly(error)

    def _draw(self) -> None:
        """Until the run has ended, and once more; then the last word."""
        self._heard.wait(QUIET_SECONDS)
        if self._over.is_set() and not self._lines:
            return
        over = False
        while not over:
            over = self._over.wait(TICK_SECONDS)
            self._look_for_stop()
            state, lines = self._news()
            if self._error:
                raise self._error
            self._pen.show(state, lines, time.monotonic())
        self._pen.lift()
        self._pen.plainly([self._summary()])

    def _look_for_stop(self) -> None:
        with self._lock:
            if self._stopping.is_set() and not self.state.stopping and not self.state.end:
                self.state = self.state.asked_to_stop()
                self._lines.append(stamped(self.state.facts.pipeline, finishing(self.state)))

    def _news(self) -> tuple[State, list[str]]:
        with self._lock:
            self._taken = list(self._lines)
            self._lines.clear()
            return self.state, self._taken

    def _summary(self) -> str:
        return stamped(self.state.facts.pipeline, summary(self.state, time.monotonic()))

    def _write_plainly(self, error: Exception) -> None:
        """What drawing could not do, lines can."""
        what = f"{type(error).__name__}: {error}"
        told = f"the live view could not be drawn ({what}); the run goes on, with plain lines"
        with self._lock:
            self._plain = True
            self._lines.extendleft([self._summary(), stamped(self.state.facts.pipeline, told), *reversed(self._taken)])
        self._pen.lift_anyhow()
        over = False
        while not over:
            over = self._over.wait(TICK_SECONDS)
            self._pen.plainly(self._news()[1])
