"""Pipeline -> Spark query: the streaming plan, and the function that Spark calls with each batch."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from penstock.batch import write_batch
from penstock.engine.governor import Governor
from penstock.engine.hints import Hints
from penstock.engine.layout import check_layout
from penstock.ledger.checkpoint import Checkpoint
from penstock.pipeline import Pipeline
from penstock.plan import Plan
from penstock.ranges import Range, ranges_between
from penstock.sources.cluster import Cluster
from penstock.sources.kafka import stream
from penstock.triggers import seconds_between

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class StopAsked(Exception):
    """The run is to end: this batch is not begun. It comes again with the next run."""


class Batches:
    """Spark's foreachBatch function. Keeps the error that ended a batch, which Spark would turn into text."""

    def __init__(
        self, plan: Plan, checkpoint: Checkpoint, cluster: Cluster, stopping: threading.Event, governor: Governor
    ) -> None:
        self.plan, self.checkpoint, self.cluster, self.stopping = plan, checkpoint, cluster, stopping
        self.governor = governor
        self.hints = Hints(plan.pipeline, plan.emit)
        self.failure: BaseException | None = None
        self._resumed = checkpoint.planned if checkpoint.planned != checkpoint.committed else None

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        try:
            if self.stopping.is_set():
                raise StopAsked
            self.governor.before_batch()
            self._write(rows, batch_id)
        except BaseException as error:
            self.failure = error
            raise

    def _write(self, rows: DataFrame, batch_id: int) -> None:
        began, ranges = time.monotonic(), self._ranges(batch_id)
        write_batch(self.plan, rows, batch_id, ranges)
        if batch_id == self._resumed:
            return  # half of its work was done by an earlier run: it tells nothing of the pace
        seconds = time.monotonic() - began
        self.governor.after_batch(batch_id, ranges, seconds)
        self.hints.look(ranges, seconds, lambda: rows.sparkSession.sparkContext.defaultParallelism)

    def _ranges(self, batch_id: int) -> tuple[Range, ...]:
        """What Spark reads in this batch. A partition that joins with it starts at its first offset."""
        start, end = self.checkpoint.start_of(batch_id), self.checkpoint.end_of(batch_id)
        return ranges_between(start, end, self.cluster.earliest(part for part in end if part not in start))


def start_query(spark: SparkSession, batches: Batches, *, once: bool, skip_losses: bool) -> StreamingQuery:
    """The running query of a pipeline."""
    pipeline = batches.plan.pipeline
    check_layout(pipeline, batches.checkpoint)
    rows = stream(
        spark,
        pipeline.source,
        batches.cluster.bootstrap,
        pipeline=pipeline.name,
        partitions=len(batches.cluster.read_by(pipeline.source)),
        max_rows=batches.governor.begin(),
        skip_losses=skip_losses,
        start=batches.plan.start,
        apart=pipeline.pace.fair == "by_topic",
    )
    writer = rows.writeStream.queryName(pipeline.name).option("checkpointLocation", str(batches.checkpoint.folder))
    query = writer.trigger(**trigger(pipeline, once=once)).foreachBatch(batches).start()
    batches.governor.attach(query)
    return query


def trigger(pipeline: Pipeline, *, once: bool) -> dict[str, Any]:
    """The pipeline's trigger in Spark's words."""
    if once or pipeline.trigger == "available_now":
        return {"availableNow": True}
    return {"processingTime": f"{round(seconds_between(pipeline.trigger) * 1000)} milliseconds"}
