"""The main job in its forms: the script of the tutorials, and penstock. Each drains the topic into two Delta tables."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bench.topic import TOPIC
from penstock import DeadLetters, Delta, Json, Kafka, Pace, Pipeline, Sink
from penstock.dev.payments import SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Job:
    """What one drain is given."""

    spark: SparkSession
    bootstrap: str
    batch_rows: int
    folder: Path

    @property
    def table(self) -> Path:
        return self.folder / "payments"

    @property
    def dead_letters(self) -> Path:
        return self.folder / "dead_letters"


def tutorial(job: Job) -> None:
    """What everybody copies: `from_json` with a corrupt column, then in foreachBatch persist, count, two appends.

    In its better form: parsed once, before the persist, and with Delta's keys against a batch that comes twice.
    """
    from pyspark.sql.functions import col, from_json

    schema = f"{SCHEMA.strip().replace(' NOT NULL', '')}, _corrupt_record STRING"  # from_json heeds no NOT NULL
    records = (
        job.spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", job.bootstrap)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", job.batch_rows)
        .load()
    )
    parsed = records.select(
        from_json(col("value").cast("string"), schema, {"columnNameOfCorruptRecord": "_corrupt_record"}).alias("data"),
        *(col(name).alias(f"_{name}") for name in ("topic", "partition", "offset", "timestamp", "value")),
    )
    checkpoint = str(job.folder / "checkpoint")
    stream = parsed.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    stream.foreachBatch(_split_and_append(job)).start().awaitTermination()


def _split_and_append(job: Job) -> Callable[[DataFrame, int], None]:
    def write(batch: DataFrame, batch_id: int) -> None:
        batch.persist()
        total = batch.count()
        broken = "data IS NULL OR data._corrupt_record IS NOT NULL"
        good = batch.where(f"NOT ({broken})").select("data.*", "_topic", "_partition", "_offset", "_timestamp")
        _append(good.drop("_corrupt_record"), job.table, batch_id)
        _append(batch.where(broken).drop("data"), job.dead_letters, batch_id)
        logging.getLogger("tutorial").info("batch %d: %d rows", batch_id, total)
        batch.unpersist()

    return write


def _append(rows: DataFrame, table: Path, batch_id: int) -> None:
    once = {"txnAppId": f"tutorial-{table.name}", "txnVersion": str(batch_id)}
    rows.write.format("delta").mode("append").options(**once).save(str(table))


def penstock(job: Job) -> None:
    """`penstock run --once`, in this process and session."""
    from penstock.engine.run import RunOptions, run
    from penstock.observe.events import nowhere

    pipeline = Pipeline(
        name="bench",
        folder=job.folder,
        source=Kafka(brokers=(job.bootstrap,), topics=(TOPIC,)),
        decode=Json(schema=SCHEMA),
        sinks={"lake": Sink(to=Delta(table=str(job.table)))},
        dead_letters=DeadLetters(delta=str(job.dead_letters)),
        pace=Pace(max_rows=job.batch_rows),
    )
    run(pipeline, RunOptions(once=True), nowhere, spark=job.spark)


VARIANTS: dict[str, Callable[[Job], None]] = {"T": tutorial, "S": tutorial, "P": penstock}
TITLES = {
    "T": "T: the tutorial's script, in a tutorial's session",
    "S": "S: the same script, in penstock's session",
    "P": "P: penstock",
}
