"""source kafka: what may be written in the pipeline file about it."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, StringConstraints, field_validator, model_validator

from penstock.options import Field, Options
from penstock.registry import sources

Broker = Annotated[str, StringConstraints(pattern=r"^[^\s:,/]+:\d{1,5}$|^\[[0-9A-Fa-f:]+\]:\d{1,5}$")]
Topic = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
Offsets = dict[Topic, dict[int, int]]


def _start(value: object) -> object:
    """A time may come as YAML's own timestamp or as text; a map's partitions may come as text."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, str) and re.match(r"^\d{4}-\d\d-\d\d", value):
        parsed = datetime.fromisoformat(value)
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return value


@sources.register("kafka")
class Kafka(Options):
    """Topics of a Kafka cluster, read through Spark's own Kafka source."""

    brokers: Literal["dev"] | tuple[Broker, ...] = Field(
        strict=False,
        description="Broker addresses, `host:port`; or the word `dev`, the embedded broker beside the pipeline file.",
    )
    topics: tuple[Topic, ...] | None = Field(None, strict=False, description="Read these topics.")
    pattern: str | None = Field(None, description="Read every topic that this regular expression matches.")
    partitions: dict[Topic, tuple[int, ...]] | None = Field(
        None, strict=False, description="Read just these partitions: topic -> partition numbers."
    )
    start: Annotated[Literal["earliest", "latest"] | datetime | Offsets, BeforeValidator(_start)] = Field(
        "earliest",
        description="Where the first run begins: `earliest`, `latest`, a UTC time, or topic -> partition -> offset. "
        "Afterwards the checkpoint rules.",
    )
    on_data_loss: Literal["stop", "skip"] = Field(
        "stop", description="Records deleted before they were read: stop with the exact ranges, or go on and keep them."
    )
    isolation: Literal["committed", "uncommitted"] = Field(
        "committed", description="Whether records of aborted transactions are left out."
    )

    @field_validator("brokers", "topics", "partitions")
    @classmethod
    def _not_empty(cls, value: Any) -> Any:
        if value is not None and not value:
            raise ValueError("is empty.")
        return value

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                re.compile(value)
            except re.error as error:
                raise ValueError(f"is not a regular expression: {error}.") from error
        return value

    @model_validator(mode="after")
    def _one_way_to_read(self) -> Kafka:
        given = [key for key in ("topics", "pattern", "partitions") if getattr(self, key) is not None]
        if len(given) != 1:
            found = " and ".join(f"`{key}`" for key in given) or "none"
            raise ValueError(f"needs exactly one of `topics`, `pattern`, `partitions`. Found {found}.")
        return self
