"""How one pipeline stands, as a value: what its ledger, its `now.json` and its history came to at one moment."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.ledger.records import Outcome
from penstock.observe.metrics_kept import state_of
from penstock.observe.now import Now
from penstock.observe.recent import Row
from penstock.observe.status import status_of
from penstock.paths import is_remote

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

WINDOW_SECONDS = 60.0
"""Rates are taken over so long, at least."""


@dataclass(frozen=True)
class Subject:
    """A pipeline that is looked at."""

    name: str
    """Empty where only its state is known, and that does not tell."""
    state: Path
    """`Pipeline.workplace`."""
    file: str = ""
    """The pipeline file, if it was named."""
    elsewhere: bool = False
    """Whether the state itself is on another file system, and `state` only stands for it on this machine."""

    @classmethod
    def of(cls, pipeline: Pipeline, file: str = "") -> Subject:
        return cls(pipeline.name, pipeline.workplace, file, is_remote(pipeline.state))


@dataclass(frozen=True)
class Standing:
    """How one pipeline stands, at the moment `at`. What nobody knows is None."""

    name: str
    subject: Subject
    at: float
    state: str
    """`starting`, `working`, `idle`, `waiting`, `paused`; `dead`, `failed`, `stopped`, `done`; `new`: never ran."""
    why: str
    """What stands behind the word: what is waited for, what ended it; empty where there is nothing to say."""
    now: Now | None
    holder: dict[str, Any] | None
    """Who runs it."""
    generation: int | None
    last: Outcome | None
    """The newest batch that is committed, by the ledger."""
    batches: tuple[Row, ...] = field(default=(), repr=False)
    """Rows of the history, newest last: `penstock.observe.history` names their columns."""
    runs: tuple[Row, ...] = field(default=(), repr=False)

    @property
    def running(self) -> bool:
        return self.holder is not None

    @property
    def silent_seconds(self) -> float | None:
        """Since the process last told anything."""
        return None if self.now is None else max(0.0, self.at - self.now.at)

    @property
    def freshness_seconds(self) -> float | None:
        """Everything that came up to so long ago is in the sinks."""
        lag = self.now.lag if self.now else None
        if lag is None or lag.total is None or (lag.total.rows and lag.seconds is None):
            return None
        return max(0.0, self.at - lag.at) + (lag.seconds or 0.0)

    @property
    def lag_rows(self) -> int | None:
        """Unread records, as of the last poll: a dead pipeline does not see what came since."""
        lag = self.now.lag if self.now else None
        return lag.rows if lag and lag.total else None

    @property
    def rows_per_second(self) -> float:
        """Rows that committed batches read, over the last minute or the last batches; 0 while nobody runs."""
        return self._rate(lambda row: float(row["rows"]))

    @property
    def rejects_per_second(self) -> float:
        return self._rate(lambda row: float(sum(row["rejected"].values())))

    @property
    def batch_seconds(self) -> float | None:
        """How long the last batch took."""
        return None if self.last is None else self.last.seconds

    @property
    def every_seconds(self) -> float | None:
        """The trigger's interval; None where batches follow one another."""
        return self.now.every_seconds or None if self.now else None

    @property
    def alerts(self) -> tuple[dict[str, Any], ...]:
        """Alerts that are raised. Those of a run that is over are over with it, but for why it failed."""
        raised = self.now.alerts if self.now else ()
        return raised if self.running else tuple(alert for alert in raised if alert.get("alert") == "run_failed")

    def rates(self, buckets: int, seconds: float = 10.0) -> list[float]:
        """Rows a second in each of the last intervals, oldest first."""
        made = [0.0] * buckets
        for row in self._counted():
            place = buckets - 1 - int((self.at - row["at"]) / seconds)
            if 0 <= place < buckets:
                made[place] += row["rows"] / seconds
        return made

    def status(self) -> dict[str, Any]:
        """The same names as `penstock status --json`."""
        told = status_of(self.generation, self.last, self.holder, self.now)
        return {"pipeline": self.name, "state": str(self.subject.state), **told}

    def _rate(self, of: Callable[[Row], float]) -> float:
        if not self.running or self.now is None:
            return 0.0
        window = max(WINDOW_SECONDS, 3 * self.now.every_seconds)
        since = max(self.at - window, self.now.started_at)
        return sum(of(row) for row in self._counted() if row["at"] >= since) / max(1.0, self.at - since)

    def _counted(self) -> list[Row]:
        """Rows of the history, and the newest batch if it waits there for company."""
        last = self.now.last_batch if self.now else None
        if last is None or (self.batches and self.batches[-1].get("last_batch") == last.batch_id):
            return list(self.batches)
        return [*self.batches, {"at": last.at, "rows": last.rows, "rejected": last.rejected}]


def word_of(now: Now | None, runs: dict[str, Any] | None, last: Outcome | None) -> tuple[str, str]:
    """The state in a word, and what stands behind it."""
    if runs is not None:
        if now is None or now.run != runs.get("run", now.run) or now.ended:
            return "starting", ""
        word = state_of(now)
        return word, now.waiting if word == "waiting" else ""
    if now is None:
        return ("new", "it has never run") if last is None else ("dead", "it left no word of itself")
    if now.ended:
        return now.ended, now.error
    return "dead", "its process ended without a word: it was killed, or the machine went down"
