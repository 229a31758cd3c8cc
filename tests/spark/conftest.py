"""Pipelines without a broker, on the shared session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.testing.batches import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path) -> Callable[..., Bench]:
    def make(**settings: Any) -> Bench:
        return Bench(spark, tmp_path, **settings)

    return make
