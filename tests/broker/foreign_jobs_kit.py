"""Plain Spark jobs that read a topic, and run until they have read it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.testing.kafka import DevKafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def records(spark: SparkSession, kafka: DevKafka, topic: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": kafka.bootstrap, "subscribe": topic, "startingOffsets": "earliest"}
    return spark.readStream.format("kafka").options(**options).load()


def run_to_the_end(rows: DataFrame, checkpoint: Path, table: Path | None = None, mode: str = "append") -> None:
    """Run a job into a Delta table, or nowhere."""
    writer = rows.writeStream.format("delta" if table else "noop").outputMode(mode)
    with_place = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = with_place.start(str(table)) if table else with_place.start()
    query.awaitTermination(120)
    assert not query.isActive
