"""Finds the records on which a step over DataFrames raises, by trying halves of what was staged for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from penstock.errors import PenstockError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MOST = 100
"""Records that are looked for in one batch; with more the step itself is to blame, and the pipeline stops."""


class Record(NamedTuple):
    topic: str
    partition: int
    offset: int


class Span(NamedTuple):
    """Offsets `first` to `last` of one partition."""

    topic: str
    partition: int
    first: int
    last: int

    def halves(self) -> Iterator[Span]:
        middle = (self.first + self.last) // 2
        yield self._replace(last=middle)
        yield self._replace(first=middle + 1)


def hunt(staged: DataFrame, works: Callable[[DataFrame], bool], step: str) -> list[Record]:
    """The records on which the step raises: `works` says whether it can do these rows."""
    found: list[Record] = []
    open_ = _spans(staged)
    while open_:
        span = open_.pop()
        if works(staged.filter(_within(span))):
            continue
        if span.first < span.last:
            open_ += span.halves()
            continue
        found.append(Record(span.topic, span.partition, span.first))
        if len(found) > MOST:
            raise PenstockError(
                f"step {step}: it raises on more than {MOST} records of one batch.",
                data="Nothing of this batch is visible.",
                remedy="Correct the function and run again; the error on one of them is in Spark's log.",
            )
    return found


def is_one_of(records: Sequence[Record]) -> Column:
    """True for the rows of these records."""
    from pyspark.sql import functions as F  # noqa: N812

    matches = F.lit(False)
    for record in records:
        matches = matches | _within(Span(record.topic, record.partition, record.offset, record.offset))
    return matches


def _within(span: Span) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    place = (F.col("_topic") == span.topic) & (F.col("_partition") == span.partition)
    return place & F.col("_offset").between(span.first, span.last)


def _spans(staged: DataFrame) -> list[Span]:
    from pyspark.sql import functions as F  # noqa: N812

    ends = staged.groupBy("_topic", "_partition").agg(F.min("_offset"), F.max("_offset")).collect()
    return [Span(*row) for row in ends]
