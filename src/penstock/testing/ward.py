"""Pipelines to be looked at by the doctor: a real past, healthy; and faults that are planted by what writes them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock import Delta, Json, Kafka, Pipeline, Sink, files
from penstock.ledger.lease import lease
from penstock.observe import history
from penstock.observe import now as present
from penstock.observe.events import BatchCommitted
from penstock.observe.history import History
from penstock.observe.lag import Lag
from penstock.observe.now import Now
from penstock.observe.tracker import Measure, Tracker
from penstock.operate.doctor import Patient, Report, diagnose
from penstock.operate.doctor.admission import of_pipeline
from penstock.testing.past import Past

RUN = "the-run"


@dataclass
class Ward:
    """A pipeline `p` on a folder, with some batches behind it."""

    folder: Path
    sections: Mapping[str, Any] = field(default_factory=dict)
    past: Past = field(init=False)
    _planted: list[tuple[float, Lag | tuple[BatchCommitted, int | None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.past = Past(self.folder).run(3)

    @property
    def state(self) -> Path:
        return self.past.state

    @property
    def pipeline(self) -> Pipeline:
        sections: dict[str, Any] = {
            "source": Kafka(brokers=("localhost:9092",), topics=("t",)),
            "decode": Json(schema="id BIGINT"),
            "sinks": {"lake": Sink(to=Delta(table=str(self.past.table())))},
            "dead_letters": {"delta": str(self.past.table("dead_letters"))},
            "state": str(self.state),
        }
        return Pipeline(name="p", folder=self.folder, **{**sections, **self.sections})

    def patient(self, **changes: Any) -> Patient:
        """As the doctor gets it; without a broker."""
        return replace(of_pipeline(self.pipeline, "p.yaml"), brokers=None, **changes)

    def report(self, **changes: Any) -> Report:
        return diagnose(self.patient(**changes))

    def codes(self, **changes: Any) -> list[str]:
        return [found.code for found in self.report(**changes).findings]

    def tells(self, **told: Any) -> Now:
        """What the running process leaves in `now.json`."""
        return present.write(self.state, Now(**{"pipeline": "p", "run": RUN, "pid": 4711, "started_at": 0.0, **told}))

    @contextmanager
    def held(self) -> Iterator[None]:
        """While the block runs, a process runs the pipeline."""
        with lease(self.state / "lease", "p", RUN):
            yield

    def ran(self, batches: int, every: float, ends: float = 5.0, **batch: Any) -> None:
        """So many batches, one every so many seconds, the last of them some seconds ago: into the history."""
        began, limit = time.time() - ends - every * (batches - 1), batch.get("read_limit")
        for number in range(batches):
            self._planted.append((began + number * every, (batch_of(number, **batch), limit)))
        self._write()

    def fell_behind(self, every: float = 10.0, comes: int = 2000, reads: int = 1000) -> Lag:
        """An hour of lags in which more came than was read; gives the newest."""
        tracker, lag, began = Tracker(), Lag(0.0), time.time() - 3600
        for number in range(int(3600 / every)):
            at = began + number * every
            ends = {("t", part): comes * (number + 1) // 2 for part in (0, 1)}
            stands = {("t", part): reads * (number + 1) // 2 for part in (0, 1)}
            lag = tracker.see(Measure(at=at, positions=stands, ends=ends))
            self._planted.append((at, lag))
        self._write()
        return lag

    def _write(self) -> None:
        """All that was planted, in the order of time, by one writer: as a run does it, over midnight too."""
        files.remove(history.folder_of(self.state).glob("????-??-??.*"))
        clock = Moving(0.0)
        kept = History(self.state, 30 * 86_400, clock)
        for clock.now, planted in sorted(self._planted, key=lambda each: each[0]):
            if isinstance(planted, Lag):
                kept.lag(planted)
            else:
                kept.batch(planted[0], 1, planted[1])
            kept.tick(force=True)


@dataclass
class Moving:
    """A clock that a test moves on."""

    now: float

    def __call__(self) -> float:
        return self.now


def batch_of(number: int, **told: Any) -> BatchCommitted:
    """A batch as a run tells of it; what is not given is that of a healthy one."""
    told.pop("read_limit", None)
    seconds = told.pop("seconds", 1.0)
    usual: dict[str, Any] = {
        "read": 5000,
        "written": 5000,
        "rejected": {},
        "dropped": {},
        "phases": {"intent": 0.01, "pass": seconds * 0.9, "freeze": 0.01, "tables": seconds * 0.05, "outcome": 0.01},
        "sinks": {"lake": {"version": number, "rows": 5000}},
        "replayed": False,
        "files": 2,
        "bytes": 4_000_000,
    }
    return BatchCommitted(pipeline="p", batch_id=number, seconds=seconds, **{**usual, **told})
