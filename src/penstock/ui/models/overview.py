"""How pipelines stand, and the flow through one of them."""

from __future__ import annotations

from typing import Literal

from penstock.ui.models.alerts import Alert
from penstock.ui.models.answer import Answer, Counts
from penstock.ui.models.batches import BatchRow
from penstock.ui.models.lag import LagSum


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
