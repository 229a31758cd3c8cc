"""One small Spark session with Delta, for the tests that need Spark as a reader or a rival writer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.engine import jars


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.jars": ",".join(str(path) for path in jars.ensure("spark")),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    builder = SparkSession.builder.master("local[2]").appName("penstock contracts")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Where a test's table will be. Nothing is there yet."""
    return str(tmp_path / "table")
