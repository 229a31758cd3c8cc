"""Batches, and one of them whole."""

from __future__ import annotations

from typing import Literal

from penstock.ui.models.answer import Answer, Counts


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
