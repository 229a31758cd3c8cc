"""What happened, as frozen values. Log lines, JSON lines, metrics and the live view are all made from these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to a pipeline."""

    pipeline: str

    def to_json(self) -> dict[str, Any]:
        """What a JSON line says of it."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    generation: int
    brokers: str
    state: str
    resumes_at: int | None
    """The batch that comes next, or None on the first run."""


@dataclass(frozen=True, kw_only=True)
class BatchStarted(Event):
    batch_id: int
    offsets: int
    """Offsets in the batch's ranges: rows, where the topic is neither compacted nor transactional."""


@dataclass(frozen=True, kw_only=True)
class PhaseStarted(Event):
    """A numbered step of a batch begins: for who looks on. No line is made of it; the outcome has the seconds."""

    batch_id: int
    phase: str


@dataclass(frozen=True, kw_only=True)
class BatchCommitted(Event):
    batch_id: int
    read: int
    written: int
    rejected: dict[str, int]
    dropped: dict[str, int]
    seconds: float
    phases: dict[str, float]
    sinks: dict[str, dict[str, Any]]
    warned: dict[str, int] = field(default_factory=dict)
    """Records by the check that only warns of them."""
    not_routed: dict[str, int] = field(default_factory=dict)
    """Records by the sink whose `where` left them out."""
    replayed: bool
    """Published from an earlier try's manifest; nothing was read again."""
    files: int = 0
    """Files that the batch added to tables, or froze for topics."""
    bytes: int = 0
    """Their size."""

    @property
    def sink_seconds(self) -> dict[str, float]:
        """How long the commit to each sink took; those of one Kafka cluster are one commit."""
        return {name: float(sink.get("seconds") or 0.0) for name, sink in self.sinks.items()}


@dataclass(frozen=True, kw_only=True)
class Warned(Event):
    """Something that the run goes on with, and that somebody should know."""

    text: str


@dataclass(frozen=True, kw_only=True)
class CodeChanged(Event):
    """An unfinished batch was begun by other code: another version of penstock or of the pipeline file."""

    batch_id: int
    finished: bool
    """From what the earlier code froze; else it is computed again, and nothing of it was visible."""


@dataclass(frozen=True, kw_only=True)
class Progressed(Event):
    """Spark's own figures after a batch, or while idle."""

    batch_id: int
    rows: int
    rows_per_second: float
    lag_rows: int | None
    lag: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Paced(Event):
    """The governor has decided how large the next batch may be."""

    batch_id: int | None
    """The batch that it was decided after; None where somebody asked for it."""
    limit: int
    """Most rows of the next batch; 0 while it is paused."""
    before: int
    reason: str
    backlog: int | None = None
    """Rows that the batch left behind, if that is known."""
    caught_up_in: float | None = None
    """Seconds until nothing is left behind, as things stand; None if unknown, or never."""
    news: bool = False
    """Whether it is worth a line."""


@dataclass(frozen=True, kw_only=True)
class LagMeasured(Event):
    """The broker was asked how far the topics are: at every poll, batch or no batch. No plain line is made of it."""

    lag: Any
    """A `penstock.observe.lag.Lag`."""

    def to_json(self) -> dict[str, Any]:
        total = self.lag.total
        return {"pipeline": self.pipeline, **({} if total is None else total.to_json())}


@dataclass(frozen=True, kw_only=True)
class ProgressNotShown(Event):
    """The Kafka group that shows the pipeline's progress could not be told. No batch is affected; it is tried again."""

    group: str
    cause: str


@dataclass(frozen=True, kw_only=True)
class Streamed(Event):
    """In real time a boundary was reached: offsets are written down, and this is what passed since the last one."""

    batch_id: int
    read: int
    rejected: dict[str, int]
    """By code; those that a check drops are here too."""


@dataclass(frozen=True, kw_only=True)
class UnknownFields(Event):
    """Fields that the schema does not name were seen for the first time."""

    batch_id: int
    fields: dict[str, int]


@dataclass(frozen=True, kw_only=True)
class RecordsLost(Event):
    """Records were deleted before they were read, and the pipeline was told to go on."""

    batch_id: int
    gaps: tuple[dict[str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Waiting(Event):
    """Something outside is away or busy; the run goes on when it is back."""

    cause: str
    pause_seconds: float
    attempt: int


@dataclass(frozen=True, kw_only=True)
class Recovered(Event):
    after_seconds: float


@dataclass(frozen=True, kw_only=True)
class SchemaChanged(Event):
    """Records came that were written with a schema nobody had met before. Tables change with the batch's commit."""

    batch_id: int
    topic: str
    subject: str
    old: int | None
    """Id of the schema that the columns were taken from until now; None where the subject is new."""
    new: int
    action: str
    """`read` or `park`."""
    changes: tuple[dict[str, str], ...] = ()
    """Each with its kind, its path, and what was before and after."""
    told: str = ""
    """The changes in words."""


@dataclass(frozen=True, kw_only=True)
class TableEvolved(Event):
    sink: str
    columns: tuple[str, ...]
    version: int


@dataclass(frozen=True, kw_only=True)
class AlertRaised(Event):
    """An alert of the pipeline file, or a built-in one, holds."""

    alert: str
    text: str
    """What was found."""
    value: float
    subject: str = ""
    """The topic, sink or code that it is about; empty for the pipeline as a whole."""
    when: str = ""
    cause: str = ""
    """Why that happens, as a rule."""
    next_step: str = ""
    test: bool = False
    """Whether it was only sent to see whether it arrives."""


@dataclass(frozen=True, kw_only=True)
class AlertCleared(Event):
    """An alert that was raised is over."""

    alert: str
    text: str
    """What was found last."""
    after_seconds: float
    subject: str = ""


@dataclass(frozen=True, kw_only=True)
class RunEnded(Event):
    reason: str
    batches: int
    seconds: float


Emit = Callable[[Event], None]


def nowhere(_event: Event) -> None:
    """For callers that do not listen."""
