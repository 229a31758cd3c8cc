"""What a pipeline, or any Spark job, keeps of itself on disk: who runs it, its history, its ledger, its checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from penstock import files
from penstock.errors import PenstockError
from penstock.ledger.lease import holder
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Intent, Outcome
from penstock.observe import gaps, history
from penstock.observe import now as present
from penstock.observe.metrics_kept import Usual
from penstock.observe.now import Now
from penstock.operate.doctor import course
from penstock.operate.doctor.course import Course
from penstock.operate.foreign import Foreign, look

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

Seen = TypeVar("Seen")
STRANGE = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""What reading a file raises that holds something else than it should, or that may not be read."""
PAST_SECONDS = 7200.0
"""So much of the history is looked at, back from its newest row."""
DAYS = (1, 30)
"""The newest row is looked for in the last day, then in the last thirty: what is older says nothing of today."""


@dataclass
class Kept:
    """One pipeline of ours (`pipeline`, or its `state` alone), or a checkpoint of any job; and what is kept of it."""

    name: str
    file: str = ""
    """How the pipeline file is named in a command; empty where there is none."""
    pipeline: Pipeline | None = None
    state: Path | None = None
    """The state folder of a pipeline of ours, if it lies on this machine."""
    workplace: Path | None = None
    """Where its progress lies."""
    checkpoint: Path | None = None
    brokers: Callable[[], str] | None = None
    """Gives the addresses of the brokers, or raises why there are none; None where nobody named any."""
    table_paths: Mapping[str, str] = field(default_factory=dict)
    committed_only: bool = False
    """Of a foreign job: whether it reads committed records only."""
    at: float = field(default_factory=time.time)
    seen: list[str] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)
    """What could not be looked at -> why."""

    @property
    def ours(self) -> bool:
        return self.workplace is not None

    # who runs it, and what that process tells

    @cached_property
    def holder(self) -> dict[str, Any] | None:
        """The process that runs it now."""
        state = self.state
        return None if state is None else self.attempt("lease", lambda: holder(state / "lease"))

    @property
    def running(self) -> bool | None:
        """None: nobody can tell."""
        return self.holder is not None if self.state is not None else None

    @cached_property
    def now(self) -> Now | None:
        """How it was when its process last told."""
        where = self.workplace
        return None if where is None else self.attempt("now.json", lambda: present.read(where))

    @property
    def fresh(self) -> bool:
        """Does a process run, and has it told lately how it is?"""
        now = self.now
        return bool(self.running) and now is not None and now.age(self.at) < 3 * now.poll_seconds + 5

    @cached_property
    def past(self) -> list[dict[str, Any]]:
        """Batches of the newest hours that are kept."""
        return self._kept("batches")

    @cached_property
    def lags(self) -> list[dict[str, Any]]:
        """Lags of the same time, over all topics."""
        return [row for row in self._kept("lags") if not row["topic"]]

    def _kept(self, kind: history.Kind) -> list[dict[str, Any]]:
        where = self.workplace
        return [] if where is None else self.attempt("history", lambda: _newest_rows(where, kind, self.at)) or []

    @cached_property
    def course(self) -> Course | None:
        """How its batches went lately."""
        if self.ours:
            return course.of_history(self.past)
        found = self.foreign
        return None if found is None else self.attempt("batches", lambda: course.of_checkpoint(found))

    @cached_property
    def usual(self) -> Usual:
        """What its file says of the length of batches."""
        if self.pipeline is None:
            return Usual()
        from penstock.observe.alerts import usual_of

        return usual_of(self.pipeline)

    # what it remembers

    @cached_property
    def ledger(self) -> Ledger | None:
        state = self.state
        return None if state is None else self.attempt("ledger", lambda: Ledger.find(state, self.name))

    @cached_property
    def last(self) -> Outcome | None:
        """The newest batch that is done."""
        ledger = self.ledger
        return None if ledger is None else self.attempt("outcomes", ledger.last_outcome)

    @cached_property
    def unfinished(self) -> tuple[Intent, bool] | None:
        """The batch that was begun and has no outcome, and whether it is frozen."""
        ledger, last = self.ledger, self.last
        intent = None if ledger is None else self.attempt("intents", ledger.last_intent)
        if ledger is None or intent is None or (last is not None and intent.batch_id <= last.batch_id):
            return None
        if "outcomes" in self.unseen:
            return None  # its outcome may be the one that cannot be read
        return intent, self.attempt("manifest", lambda: ledger.manifest(intent)) is not None

    @cached_property
    def generation(self) -> dict[str, Any] | None:
        """Who the ledger says this is."""
        path = None if self.ledger is None else self.ledger.folder / "generation.json"
        return None if path is None else self.attempt("generation", lambda: files.read_json(path))

    @cached_property
    def foreign(self) -> Foreign | None:
        """Spark's checkpoint, as of any job."""
        folder = self.checkpoint or (self.state / "spark" if self.state is not None else None)
        if folder is None or (self.state is not None and not folder.exists()):
            return None
        return self.attempt("checkpoint", lambda: look(folder))

    @cached_property
    def gaps(self) -> list[dict[str, Any]]:
        """Ranges that it went on without."""
        where = self.workplace
        return [] if where is None else self.attempt("gaps", lambda: gaps.read(where).to_pylist()) or []

    def attempt(self, what: str, read: Callable[[], Seen | None]) -> Seen | None:
        """What is read, or nothing; then `unseen` says why."""
        from confluent_kafka import KafkaException

        try:
            found = read()
        except (PenstockError, *STRANGE) as error:
            self.unseen[what] = error.what if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
            return None
        except KafkaException as error:
            self.unseen[what] = str(error.args[0].str())
            return None
        if found is not None and what not in self.seen:
            self.seen.append(what)
        return found


def _newest_rows(state: Path, kind: history.Kind, now: float) -> list[dict[str, Any]]:
    """The newest rows of the history. A month of it may hold a quarter of a million."""
    import pyarrow.compute as pc

    for days in DAYS:
        table = history.read(state, kind, now - days * history.DAY_SECONDS)
        if table.num_rows:
            since = pc.max(table["at"]).as_py() - timedelta(seconds=PAST_SECONDS)
            rows: list[dict[str, Any]] = table.filter(pc.greater(table["at"], since)).to_pylist()
            return rows
    return []
