"""What the dashboard's API answers, typed. Times are seconds since 1970, in UTC; None means that nobody knows."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Counts = dict[str, int]


class Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class Problem(Answer):
    """Why there is no answer, in words (RFC 9457)."""

    title: str
    status: int
    detail: str


class Alert(Answer):
    """An alert that is raised."""

    alert: str
    text: str
    since: float | None
    cause: str
    next_step: str


class Happened(Answer):
    """Something that happened to the process: a start, an end, a wait, an alert."""

    at: float
    event: str
    run: str
    text: str


class LostRange(Answer):
    at: float
    batch_id: int
    topic: str
    partition: int
    start: int
    end: int


class Alerts(Answer):
    standing: list[Alert]
    measured_at: float | None
    happened: list[Happened]
    lost: list[LostRange]
    damaged: int


class Card(Answer):
    """A pipeline in the overview."""

    id: str
    name: str
    change: str
    """Another text once anything of the pipeline has changed."""
    status: str
    """`starting`, `working`, `idle`, `waiting`, `paused`; `dead`, `failed`, `stopped`, `done`; `new`."""
    running: bool
    says: str
    topics: list[str]
    topics_total: int
    sinks: list[str]
    generation: int | None
    batch_id: int | None
    at: float | None
    """When the process last told how it is."""
    lag_at: float | None
    """When the lag was measured; everything that came `lag_seconds` before is in the sinks."""
    lag_rows: int | None
    lag_seconds: float | None
    trend: str | None
    rows_per_second: float | None
    read: int
    rejected: int
    last_batch_at: float | None
    last_batch_seconds: float | None
    alerts: list[str]
    spark: list[float | None]
    """Rows a second, minute by minute."""
    notes: list[str]
    """What could not be read, and what helps."""


class Pipelines(Answer):
    pipelines: list[Card]
    notes: list[str]


class Holder(Answer):
    pid: int | None
    host: str
    user: str
    since: str


class InHand(Answer):
    batch_id: int
    since: float
    phase: str
    phase_since: float
    offsets: int | None


class Stage(Answer):
    """A part of the flow: so many records came in, so many went on, and what became of the others."""

    kind: Literal["source", "decode", "checks", "steps", "work"]
    name: str
    about: str
    came: int
    went: int
    rejected: Counts
    dropped: Counts
    warned: Counts


class SinkFlow(Answer):
    name: str
    sort: str
    target: str
    written: int
    rows: int
    not_routed: int
    refused: Counts
    version: int | None
    how: str


class Flow(Answer):
    """Where records went: of the whole generation, or of one batch."""

    read: int
    stages: list[Stage]
    sinks: list[SinkFlow]
    rejected: Counts
    dropped: Counts
    dead_letters: str


class LagSum(Answer):
    partitions: int
    behind: int
    arrival_per_second: float | None
    read_per_second: float | None
    catch_up_seconds: float | None
    runway_seconds: float | None
    lost: int
    held: int
    hot: list[str]
    estimated: bool


class Detail(Card):
    """All of a pipeline but the long lists."""

    file: str
    state: str
    holder: Holder | None
    started_at: float | None
    batches: int
    tries: int
    waiting: str
    waiting_since: float | None
    error: str
    in_hand: InHand | None
    read_limit: int | None
    pace: str
    group: str
    group_trouble: str
    last_batch: BatchRow | None
    lag: LagSum | None
    flow: Flow | None
    flow_last: Flow | None
    standing: list[Alert]


class BatchRow(Answer):
    batch_id: int
    committed_at: float | None
    seconds: float | None
    read: int
    written: int
    rejected: int
    dropped: int
    phases: dict[str, float]
    versions: dict[str, int]
    replayed: bool
    trouble: str = ""
    """Why nothing else is known of it."""


class Batches(Answer):
    generation: int | None
    generations: list[int]
    total: int
    batches: list[BatchRow]
    open: int | None
    """The batch that was begun and has no outcome yet."""
    next: int | None
    """What to ask for as `before` to go on; None at the end."""


class PartRange(Answer):
    topic: str
    partition: int
    start: int
    end: int
    seen: int | None
    rejected: int


class Committed(Answer):
    sink: str
    sort: str
    target: str
    version: int
    """Of a table; of a topic: the batch in the marker of its transaction."""
    rows: int
    how: str
    added: list[str]
    seconds: float | None
    """How long the commit took; None of a batch that was done before this was kept."""


class Batch(BatchRow):
    """One batch, whole."""

    generation: int
    begun_at: str
    run: str
    digest: str
    fingerprint: str
    offsets: int
    ranges: list[PartRange]
    sinks: list[Committed]
    rejected_by: Counts
    dropped_by: Counts
    warned_by: Counts
    not_routed_by: Counts
    gaps: list[PartRange]
    stage: Literal["committed", "frozen", "begun"]


class PartitionRow(Answer):
    topic: str
    partition: int
    rows: int
    offsets: int
    estimated: bool
    seconds: float | None
    age_seconds: float | None
    arrival_per_second: float | None
    read_per_second: float | None
    catch_up_seconds: float | None
    runway_seconds: float | None
    runway_known: bool
    """Whether the topic's retention is known: then no `runway_seconds` means that nothing unread is in danger."""
    position: int
    end: int
    lost: int
    held: int
    hot: bool
    spark_offsets: int | None
    group_offsets: int | None


class TopicRow(Answer):
    topic: str
    partitions: int
    behind: int
    rows: int
    seconds: float | None
    arrival_per_second: float | None
    read_per_second: float | None
    catch_up_seconds: float | None
    runway_seconds: float | None
    trend: str
    hot: int


class LagTable(Answer):
    at: float | None
    partitions: list[PartitionRow]
    topics: list[TopicRow]
    unknown: list[str]


class Course(Answer):
    """How a pipeline went, in steps of equal length. Each list has a value for each step, or None."""

    since: float
    until: float
    step: float
    at: list[float]
    lag_rows: list[float | None]
    lag_seconds: list[float | None]
    rows_per_second: list[float | None]
    arrival_per_second: list[float | None]
    batch_seconds: list[float | None]
    longest_seconds: list[float | None]
    rejected: list[float | None]
    happened: list[Happened]
    damaged: int
    """Lines of the history that could not be read."""


class Payload(Answer):
    form: Literal["text", "hex", "none"]
    text: str
    bytes: int
    cut: bool


class Letter(Answer):
    topic: str
    partition: int
    offset: int
    timestamp: float | None
    rejected_at: float | None
    stage: str
    code: str
    field: str
    detail: str
    batch_id: int | None
    key: Payload
    value: Payload


class Letters(Answer):
    table: str
    total: int
    by_code: Counts
    samples: list[Letter]
    trouble: str
    """Why there are no samples."""
    note: str


class SchemaNews(Answer):
    revision: int
    at: str
    topic: str
    subject: str
    before: int | None
    after: int
    action: str
    batch_id: int | None
    changes: list[dict[str, str]]


class Schemas(Answer):
    kept: bool
    """Whether the pipeline reads by a registry, as far as its state tells."""
    revision: int | None
    registry: str
    columns: str
    subjects: dict[str, int]
    news: list[SchemaNews]
    trouble: str


class Entry(Answer):
    """A batch as the ledger has it."""

    batch_id: int
    begun_at: str
    run: str
    fingerprint: str
    digest: str
    offsets: int
    stage: Literal["committed", "frozen", "begun"]
    committed_at: float | None
    how: dict[str, str]
    trouble: str


class Marker(Answer):
    cluster: str
    marker: str
    begun_at: str


class Writes(Answer):
    sink: str
    committer: str
    target: str
    id: str


class Identity(Answer):
    pipeline: str
    generation: int
    id: str
    created_at: str
    version: str
    start: str
    cluster: str
    topics: dict[str, str]
    sinks: list[Writes]


class LedgerPage(Answer):
    generations: list[int]
    identity: Identity | None
    entries: list[Entry]
    markers: list[Marker]
    next: int | None
    trouble: str


Detail.model_rebuild()
