"""Many pipelines at a glance, read from what they left in their states. No broker is asked and Spark is not started.

`Panorama(subjects).look()` gives one `Standing` a pipeline, running or dead. A file is read again only when it has
changed, so that looking every two seconds at fifty pipelines that do nothing costs almost nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from penstock import files
from penstock.errors import PenstockError
from penstock.ledger import pulse
from penstock.ledger.lease import holder
from penstock.ledger.ledger import Ledger, generations
from penstock.ledger.records import Outcome
from penstock.observe import now as present
from penstock.observe.now import Now
from penstock.observe.recent import Recent
from penstock.operate.stamps import Kept
from penstock.operate.standings import Standing, Subject, word_of


class Watch:
    """Looks at one pipeline, again and again."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        state = subject.state
        self._now = present.path_of(state)
        self._kept = Kept()
        self._recent = Recent(state)
        self._ledger: Ledger | None = None

    def look(self, at: float | None = None) -> Standing:
        """How it stands now. Raises nothing because of what is in the state: what cannot be read is not known."""
        at = time.time() if at is None else at
        now = self._kept.of("now", (self._now,), lambda: present.read(self.subject.state))
        last, trouble = self._outcome()
        runs = self._holder(now, at)
        word, why = word_of(now, runs, last)
        return Standing(
            name=self.subject.name or (now.pipeline if now else "") or self.subject.state.name,
            subject=self.subject,
            at=at,
            state=word,
            why=trouble or why,
            now=now,
            holder=runs,
            generation=self._ledger.generation if self._ledger else None,
            last=last,
            batches=tuple(self._recent.rows("batches")),
            runs=tuple(self._recent.rows("runs")),
        )

    def _outcome(self) -> tuple[Outcome | None, str]:
        """The newest outcome; or why it cannot be read."""
        try:
            known = generations(self.subject.state)
            if known and (self._ledger is None or self._ledger.generation != known[-1]):
                self._ledger = Ledger(self.subject.state, self.subject.name, known[-1])
            if self._ledger is None:
                return None, ""
            outcomes = files.here(self._ledger.folder) / "outcomes"
            return self._kept.of(outcomes, (outcomes,), self._ledger.last_outcome), ""
        except (PenstockError, OSError, KeyError, TypeError, ValueError) as error:
            return None, error.what if isinstance(error, PenstockError) else f"the ledger cannot be read: {error}"

    def _holder(self, now: Now | None, at: float) -> dict[str, Any] | None:
        """Who holds the lease. That of a state elsewhere is not reached from here: then it is the process that told."""
        if not self.subject.elsewhere:
            try:
                return holder(self.subject.state / "lease")
            except OSError:
                return None
        lives = now is not None and not now.ended and bool(pulse.birth(now.pid)) and now.age(at) < 6 * now.poll_seconds
        return {"run": now.run, "pid": now.pid} if now is not None and lives else None


class Panorama:
    """Several pipelines, looked at together."""

    def __init__(self, subjects: Iterable[Subject]) -> None:
        self.watches = [Watch(subject) for subject in subjects]

    def look(self, at: float | None = None) -> list[Standing]:
        """How each of them stands, in the order in which they were named."""
        at = time.time() if at is None else at
        return [watch.look(at) for watch in self.watches]


def states_in(folder: Path) -> list[Path]:
    """The folder itself, if it is a pipeline's state; else those in it that are, by name."""
    if is_state(folder):
        return [folder]
    return sorted(Path(str(each)) for each in files.listed(folder) if is_state(Path(str(each))))


def is_state(folder: Path) -> bool:
    return any((folder / name).exists() for name in ("ledger", "progress/now.json", "lease"))


def named(state: Path) -> Subject:
    """The pipeline that this state belongs to, as far as it says so."""
    now = present.read(state)
    return Subject((now.pipeline if now else "") or _name_in(state), state)


def _name_in(state: Path) -> str:
    known = generations(state)
    try:
        told = files.read_json(state / "ledger" / f"g{known[-1]}" / "generation.json") if known else None
    except PenstockError:  # damaged: looking at the ledger says so
        return ""
    return str((told or {}).get("pipeline", ""))
