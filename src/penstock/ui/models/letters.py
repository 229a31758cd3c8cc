"""Dead letters, and the schemas that were met."""

from __future__ import annotations

from typing import Literal

from penstock.ui.models.answer import Answer, Counts


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
