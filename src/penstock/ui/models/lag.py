"""Lag by topic and partition, and figures over time."""

from __future__ import annotations

from penstock.ui.models.alerts import Happened
from penstock.ui.models.answer import Answer


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
