"""A process that tells of itself what a test wants told."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from tests.unit.history_kit import batch as batch_event

from penstock.observe.diary import Diary
from penstock.observe.events import BatchCommitted, RunStarted
from penstock.observe.history import History
from penstock.observe.now import Board, Now
from penstock.observe.tracker import Measure, Tracker

STARTED = RunStarted(pipeline="p", generation=1, brokers="b", state="s", resumes_at=None)


class Told:
    """A process that tells of itself what it is told to, on a clock of its own."""

    def __init__(self, state: Path, name: str = "p", at: float | None = None, **more: Any) -> None:
        self.state, self.at = state, time.time() if at is None else at
        board = Board(state, Now(name, run="r", pid=os.getpid(), started_at=self.at, **more))
        self.diary = Diary(board, History(state, 86_400.0, lambda: self.at))
        self.diary.take(STARTED)

    def batch(self, number: int, **more: Any) -> BatchCommitted:
        event = batch_event(number, **more)
        self.diary.take(event)
        return event

    def lag(self, end: int = 12, at: float | None = None) -> None:
        measure = Measure(at=self.at if at is None else at, positions={("t", 0): 5}, ends={("t", 0): end})
        self.diary.board.update(lag=Tracker().see(measure))

    def leave(self) -> None:
        self.diary.history.tick(force=True)
        self.diary.board.write(force=True)
