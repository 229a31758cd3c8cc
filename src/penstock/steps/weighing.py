"""Records cross into the worker without being weighed, as long as they are small.

Spark can bound an Arrow batch in bytes, but to do so it weighs the batch anew after every record: a fifth of the JVM's
work on small ones. So a batch is first read unweighed, in Arrow batches that are bounded in records alone, and the
bytes of a large record stay behind: only its offset crosses, as -1 - offset. Where one stayed behind, the pass is void,
and the batch is read again, weighed; so are the batches after it, until a long one had no large record.

What comes out of a Spark stage is always weighed: SQL can make a large row of a small one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.worker.intake import LARGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
FEWER_ROWS = 4_000
"""Of an Arrow batch out of a Spark stage: for each row that it weighs, Spark walks over the rows in front of it whose
ARRAY or MAP is null, back to one that is not."""
UNBOUNDED = str(2**31 - 1)
LONG = 100_000
"""Records that a batch must have for its lack of large ones to mean something."""
HEAVY = ("value", "key", "headers")


def small_alone(source: DataFrame, columns: Sequence[str]) -> DataFrame:
    """These columns, without the bytes of large records."""
    weight = " + ".join(f"coalesce(octet_length({name}), 0)" for name in HEAVY)
    large = f"({weight} > {LARGE})"
    light = {name: f"CASE WHEN NOT {large} THEN {name} END AS {name}" for name in HEAVY}
    light["offset"] = f"CASE WHEN {large} THEN -1 - offset ELSE offset END AS offset"
    return source.selectExpr(*(light.get(name, name) for name in columns))


@contextmanager
def unweighed(session: SparkSession) -> Iterator[None]:
    """Passes of this session bound their Arrow batches in records alone."""
    with _set(session, BYTES, UNBOUNDED):
        yield


@contextmanager
def in_smaller_batches(session: SparkSession) -> Iterator[None]:
    """Passes of this session have Arrow batches of fewer records: those with a Spark stage."""
    before = int(session.conf.get(ROWS) or 0)
    with _set(session, ROWS, str(min(before, FEWER_ROWS) if before > 0 else FEWER_ROWS)):
        yield


@contextmanager
def _set(session: SparkSession, setting: str, value: str) -> Iterator[None]:
    before = session.conf.get(setting) or value
    session.conf.set(setting, value)
    try:
        yield
    finally:
        session.conf.set(setting, before)


def still_weighed(large: int, read: int, *, before: bool) -> bool:
    """Whether to weigh the next batch, after one of `read` records of which so many were large."""
    return large > 0 or (before and read < LONG)
