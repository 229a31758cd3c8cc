"""source kafka: what may be written in the pipeline file about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, PositiveInt, Strict, TypeAdapter

from penstock.brokers import Brokers, TopicName, some
from penstock.choice import did_you_mean
from penstock.options import Field, Options, Wrong
from penstock.registry import sources

_LARGEST_PARTITION = 2**31 - 1
_LARGEST_OFFSET = 2**63 - 1


Partition = Annotated[int, Field(ge=0, le=_LARGEST_PARTITION)]
Offset = Annotated[int, Field(ge=0, le=_LARGEST_OFFSET)]
Partitions = Annotated[tuple[Partition, ...], Strict(False), AfterValidator(some)]
Offsets = dict[TopicName, dict[Partition, Offset]]

_OFFSETS = TypeAdapter[dict[str, dict[int, int]]](Offsets, config={"strict": True})


def _start(value: object) -> object:
    """A word, a time or a map. A time without a zone is UTC."""
    if isinstance(value, dict):
        return _some_offsets(_OFFSETS.validate_python(value))
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    words = ("earliest", "latest")
    if isinstance(value, str) and re.match(r"[0-9]{4}-[0-9]", value):
        return _time(value)
    if not isinstance(value, str) or value not in words:
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        remedy = "Write  earliest,  latest,  a UTC time like  2026-11-01T00:00:00Z,  or  {orders: {0: 1200}}"
        raise Wrong(f"is no place to start.{hint if 'mean' in hint else ''}", remedy)
    return value


def _time(value: str) -> datetime:
    try:
        parsed = datetime.fromisoformat(value)
        return parsed.astimezone(UTC) if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise Wrong(f"is not a time: {error}.", "Write it like  2026-11-01T00:00:00Z") from None


def _some_offsets(offsets: dict[str, dict[int, int]]) -> dict[str, dict[int, int]]:
    empty = [topic for topic, places in offsets.items() if not places]
    if empty or not offsets:
        raise Wrong("is an empty map." if not offsets else f"names no partition of `{empty[0]}`.")
    return offsets


def _some_partitions(value: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    if not value:
        raise Wrong("is an empty map.", "Write it like  {orders: [0, 1]}")
    return value


def _pattern(value: str) -> str:
    """Kafka reads it as a Java expression; what Python cannot read either is certainly wrong."""
    if not value:
        raise Wrong("is empty.", r"Write it like  'payments\..*'")
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        raise Wrong(f"is not a regular expression: {error}.") from None
    return value


@sources.register("kafka")
class Kafka(Options):
    """Topics of a Kafka cluster, read through Spark's own Kafka source."""

    brokers: Brokers = Field(
        description="Broker addresses, `host:port`; or the word `dev`, the embedded broker beside the pipeline file.",
    )
    topics: Annotated[tuple[TopicName, ...], Strict(False), AfterValidator(some)] | None = Field(
        None, description="Read these topics."
    )
    pattern: Annotated[str, AfterValidator(_pattern)] | None = Field(
        None, description="Read every topic that this regular expression matches."
    )
    partitions: Annotated[dict[TopicName, Partitions], AfterValidator(_some_partitions)] | None = Field(
        None, description="Read just these partitions: topic -> partition numbers."
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

    task_rows: PositiveInt | None = Field(
        None,
        description="Split a partition's share of a batch into tasks of at most so many rows, for a hot partition. "
        "Tables and topics hold the same; only the order in which tasks run differs. Default `whole partitions`.",
    )

    exactly_one: ClassVar = ("topics", "pattern", "partitions")

    @classmethod
    def between(cls, given: Mapping[str, Any]) -> Iterator[Wrong]:
        found = [f"`{way}`" for way in cls.exactly_one if way in given]
        if len(found) != 1:
            remedy = f"Found {' and '.join(found)}." if found else "Found none. Try  topics: [orders]"
            yield Wrong("needs exactly one of `topics`, `pattern`, `partitions`.", remedy)
