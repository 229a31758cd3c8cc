"""What the ledger holds."""

from __future__ import annotations

from typing import Literal

from penstock.ui.models.answer import Answer


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
