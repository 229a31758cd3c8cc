"""Alerts that are raised, and what happened to the process."""

from __future__ import annotations

from penstock.ui.models.answer import Answer


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
    lost_trouble: str
    """What of them cannot be read, and why."""
    damaged: int
