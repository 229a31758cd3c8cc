"""The diary: each event of a run, written where others find it: in `now.json`, and in the history."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import singledispatchmethod

from penstock.observe import events
from penstock.observe.events import Event
from penstock.observe.history import History
from penstock.observe.now import Board, InHand, LastBatch


class Diary:
    """Keeps the present and the past of one run."""

    def __init__(self, board: Board, history: History) -> None:
        self.board, self.history = board, history

    @singledispatchmethod
    def take(self, event: Event) -> None:
        """Take note of an event; most of them change nothing here."""

    @take.register
    def _(self, event: events.RunStarted) -> None:
        self.board.update(generation=event.generation, tries=self.board.now.tries + 1, in_hand=None)
        self._run("started", "" if event.resumes_at is None else f"resumes at batch {event.resumes_at}")

    @take.register
    def _(self, event: events.PhaseStarted) -> None:
        now, was = time.time(), self.board.now.in_hand
        known = was if was is not None and was.batch_id == event.batch_id else InHand(event.batch_id, now, "", now)
        self.board.update(in_hand=replace(known, phase=event.phase, phase_since=now))

    @take.register
    def _(self, event: events.BatchStarted) -> None:
        now, was = time.time(), self.board.now.in_hand
        known = was or InHand(event.batch_id, now, "intent", now)
        self.board.update(in_hand=replace(known, offsets=event.offsets))

    @take.register
    def _(self, event: events.BatchCommitted) -> None:
        last = LastBatch.of(event, time.time())
        now = self.board.now
        self.board.update(in_hand=None, last_batch=last, batches=now.batches + 1)
        self.history.batch(event, now.generation, now.read_limit)

    @take.register
    def _(self, event: events.Progressed) -> None:
        self.board.update(rows_per_second=event.rows_per_second)

    @take.register
    def _(self, event: events.Paced) -> None:
        self.board.update(read_limit=event.limit, pace=event.reason)

    @take.register
    def _(self, event: events.Waiting) -> None:
        cause = _whole(event.cause)
        self.board.update(waiting=cause, waiting_since=time.time())
        self._run("waiting", cause)

    @take.register
    def _(self, event: events.Recovered) -> None:
        self.board.update(waiting="", waiting_since=None)
        self._run("recovered", f"after {event.after_seconds:.0f} s")

    @take.register
    def _(self, event: events.RecordsLost) -> None:
        gaps = (f"{gap['topic']}-{gap['partition']} {gap['start']} to {gap['end'] - 1}" for gap in event.gaps)
        self._run("lost", "; ".join(gaps))

    def ended(self, how: str, error: str = "") -> None:
        """The run is over: `done`, `stopped` or `failed`."""
        error = _whole(error)
        self.board.update(ended=how, error=error, in_hand=None, waiting="", waiting_since=None)
        self._run(how, error)

    def _run(self, event: str, text: str) -> None:
        self.history.run(event, self.board.now.run, self.board.now.generation, text)


def _whole(text: str) -> str:
    """Half a character, as names of files may hold one, has no form in JSON: then nothing at all would be told."""
    return text.encode("utf-8", "replace").decode()
