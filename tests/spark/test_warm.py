"""Python workers are kept for the next record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.engine import warm
from penstock.engine.warm import Warmth

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_slot_gets_a_word(spark: SparkSession) -> None:
    assert Warmth(spark, wanted=True).keep() == spark.sparkContext.defaultParallelism


@pytest.mark.parametrize("wanted", [True, False])
def test_it_is_done_now_and_then_where_it_is_wanted(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    monkeypatch.setattr(warm, "EVERY_SECONDS", 0.0)
    tracker = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("warmth", "")
    before = len(tracker.getJobIdsForGroup("warmth"))
    Warmth(spark, wanted=wanted).tend()
    assert (len(tracker.getJobIdsForGroup("warmth")) > before) is wanted
