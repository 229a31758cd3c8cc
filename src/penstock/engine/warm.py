"""Python workers kept alive while nothing comes: Spark ends them after an idle minute, and a record would wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

EVERY_SECONDS = 30.0


class Warmth:
    """Gives the workers a word now and then, between batches. Costs some milliseconds."""

    def __init__(self, spark: SparkSession, *, wanted: bool) -> None:
        self.spark, self.wanted = spark, wanted
        self._next = time.monotonic() + EVERY_SECONDS

    def tend(self) -> None:
        if self.wanted and time.monotonic() >= self._next:
            self._next = time.monotonic() + EVERY_SECONDS
            self.keep()

    def keep(self) -> int:
        """Let a task run on every slot; gives how many there were."""
        slots = self.spark.sparkContext.defaultParallelism
        return len(self.spark.range(0, slots, 1, slots).mapInArrow(_as_they_are, "id long").collect())


def _as_they_are(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
