"""One Spark session for the whole test run; whoever needs no JVM does not start it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A merge is guarded by the same examples each time; `EXAMPLES=chance make unit` draws new ones.
settings.register_profile("steady", derandomize=True)
settings.register_profile("chance", derandomize=False)
settings.load_profile(os.environ.get("EXAMPLES", "steady"))


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
