"""Records cross into the worker without being weighed, as long as they are small.

Spark can bound an Arrow batch in bytes, but to do so it weighs the batch anew after every record: a fifth of the JVM's
work on small ones. So a batch is first read unweighed, in Arrow batches that are bounded in records alone, and the
bytes of a large record stay behind: only its offset crosses, as -1 - offset. Where one stayed behind, the pass is void,
and the batch is read again, weighed; so are the batches after it, until a long one had no large record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.worker.intake import LARGE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTING = "spark.sql.execution.arrow.maxBytesPerBatch"
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
    before = session.conf.get(SETTING) or UNBOUNDED
    session.conf.set(SETTING, UNBOUNDED)
    try:
        yield
    finally:
        session.conf.set(SETTING, before)


def still_weighed(large: int, read: int, *, before: bool) -> bool:
    """Whether to weigh the next batch, after one of `read` records of which so many were large."""
    return large > 0 or (before and read < LONG)
