"""Pipeline: one value, whether a YAML file or Python built it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveInt, model_validator

from penstock.choice import Choice
from penstock.options import Duration, Field, Name, Options, Text
from penstock.registry import formats, sinks, sources

WRONG_SPARK = {
    "spark.speculation": "a speculative task would do a batch's work twice",
    "spark.sql.streaming.asyncProgressTrackingEnabled": "the ranges of a batch may change after a failure",
    "asyncProgressTrackingEnabled": "the ranges of a batch may change after a failure",
    "spark.sql.ansi.enabled": "a wrong cast would become a silent NULL",
    "kafka.transactional.id": "Spark's producer calls no transactions",
    "spark.sql.session.timeZone": "times are read and written in UTC",
}
"""Spark settings that would break the guarantees -> why. Refused unless they say what penstock sets anyway."""
HARMLESS = {("spark.speculation", "false"), ("spark.sql.ansi.enabled", "true"), ("spark.sql.session.timeZone", "UTC")}


class Sink(Options):
    """Where rows go: exactly one sort of sink."""

    to: Choice[sinks]  # type: ignore[valid-type]

    @model_validator(mode="before")
    @classmethod
    def _one_sort(cls, value: Any) -> Any:
        if not isinstance(value, dict) or "to" in value:
            return value
        sorts = {key: body for key, body in value.items() if key in sinks}
        if len(sorts) != 1:
            found = " and ".join(f"`{key}`" for key in sorts) or "none"
            raise ValueError(f"needs exactly one of {', '.join(f'`{name}`' for name in sinks)}. Found {found}.")
        return {**{key: body for key, body in value.items() if key not in sinks}, "to": sorts}


class DeadLetters(Options):
    """Where rejected records go. This cannot be switched off."""

    delta: str | None = Field(None, description="A Delta table. Default: `<state>/dead_letters`.")


class Every(Options):
    """A batch starts at this interval."""

    every: Duration = Field(description="How far apart batches start.")


class Pace(Options):
    """How large a batch may be."""

    max_rows: PositiveInt = Field(1_000_000, description="Most rows of one batch, over all partitions.")


class Pipeline(Options):
    """A whole pipeline: read, decode, write, exactly once."""

    name: Name = Field(
        alias="pipeline",
        description="Identity: in idempotence keys and the consumer group. Renaming makes another pipeline.",
    )
    state: str = Field("", description="Checkpoint, ledger, frozen batches, progress. Default `./state/<pipeline>`.")
    source: Choice[sources] = Field(description="Where records come from.")  # type: ignore[valid-type]
    decode: Choice[formats] = Field(description="How a record's bytes become columns.")  # type: ignore[valid-type]
    sinks: dict[Name, Sink] = Field(min_length=1, description="Where rows go, by name; written in this order.")
    dead_letters: DeadLetters = Field(DeadLetters(), description="Where rejected records go.")
    trigger: Literal["as_fast_as_possible", "available_now"] | Every = Field(
        Every(every=Duration("10 seconds")), description="When a batch starts."
    )
    pace: Pace = Field(Pace(), description="How large a batch may be.")
    spark: dict[str, Text] = Field(default_factory=dict, description="Spark settings, as Spark names them.")
    folder: Path = Field(Path("."), exclude=True, description="Paths of the pipeline are relative to this folder.")
