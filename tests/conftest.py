"""One Spark session for the whole test run; whoever needs no JVM does not start it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that `penstock run` would build, on two slots."""
    from penstock.engine.session import session

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.master": "local[2,4]",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",  # a test vacuums a table of today
    }
    built = session("tests", settings, folder / "spark.log")
    yield built
    built.stop()
