"""The main job as people write it for Spark: the script of the tutorials, a tuned one, and reading alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.job import Job
from penstock.dev.payments import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BROKEN = "data IS NULL OR data._corrupt_record IS NOT NULL"
CHECKS = "data.amount > 0 AND data.currency IN ('EUR', 'USD', 'GBP', 'CHF')"
LINEAGE = ("topic", "partition", "offset", "timestamp")


def tutorial(job: Job) -> None:
    """What everybody copies: `from_json` with a corrupt column, then in foreachBatch persist, count, two appends.

    In its better form: parsed once, before the persist, and with Delta's keys against a batch that comes twice.
    """
    _stream(job, _split_and_append(job, BROKEN, ["data.*"]))


def checked(job: Job) -> None:
    """The same with two checks and a column more."""
    broken = f"({BROKEN}) OR NOT coalesce({CHECKS}, false)"
    _stream(job, _split_and_append(job, broken, ["data.*", "to_date(data.event_time) AS event_date"]))


def tuned(job: Job) -> None:
    """Without the cache: rejects are counted on the way (`observe`); a second job runs only where there are some."""
    from pyspark.sql import Observation
    from pyspark.sql.functions import count_if, expr

    def write(batch: DataFrame, batch_id: int) -> None:
        seen = Observation()
        watched = batch.observe(seen, count_if(expr(BROKEN)).alias("broken"))
        _append(_good(watched, BROKEN, ["data.*"]), job.table, batch_id)
        if seen.get["broken"]:
            _append(batch.where(BROKEN).drop("data"), job.dead_letters, batch_id)

    _stream(job, write)


def nowhere(job: Job) -> None:
    """Spark reads the topic, and the records go nowhere."""
    records = _records(job).writeStream.format("noop").option("checkpointLocation", str(job.folder / "checkpoint"))
    records.trigger(availableNow=True).start().awaitTermination()


def nowhere_avro(job: Job) -> None:
    """The same with the topic of framed Avro."""
    nowhere(replace(job, topic="payments-avro"))


def nowhere_protobuf(job: Job) -> None:
    """The same with the topic of framed Protobuf."""
    nowhere(replace(job, topic="payments-protobuf"))


def _stream(job: Job, write: Callable[[Any, int], None]) -> None:
    from pyspark.sql.functions import col, from_json

    schema = f"{SCHEMA.strip().replace(' NOT NULL', '')}, _corrupt_record STRING"  # from_json heeds no NOT NULL
    parsed = _records(job).select(
        from_json(col("value").cast("string"), schema, {"columnNameOfCorruptRecord": "_corrupt_record"}).alias("data"),
        *(col(name).alias(f"_{name}") for name in (*LINEAGE, "value")),
    )
    stream = parsed.writeStream.option("checkpointLocation", str(job.folder / "checkpoint"))
    stream.trigger(availableNow=True).foreachBatch(write).start().awaitTermination()


def _records(job: Job) -> Any:
    return (
        job.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", job.bootstrap)
        .option("subscribe", job.topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", job.batch_rows)
        .load()
    )


def _split_and_append(job: Job, broken: str, columns: list[str]) -> Callable[[DataFrame, int], None]:
    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        total = batch.count()
        _append(_good(batch, broken, columns), job.table, batch_id)
        _append(batch.where(broken).drop("data"), job.dead_letters, batch_id)
        logging.getLogger("tutorial").info("batch %d: %d rows", batch_id, total)
        batch.unpersist()

    return write


def _good(batch: DataFrame, broken: str, columns: list[str]) -> DataFrame:
    chosen = batch.where(f"NOT ({broken})").selectExpr(*columns, *(f"_{name}" for name in LINEAGE))
    return chosen.drop("_corrupt_record")


def _append(rows: DataFrame, table: Path, batch_id: int) -> None:
    once = {"txnAppId": f"tutorial-{table.name}", "txnVersion": str(batch_id)}
    rows.write.format("delta").mode("append").options(**once).save(str(table))
