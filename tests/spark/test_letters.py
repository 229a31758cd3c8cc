"""Samples of dead letters that their owner has deleted from: what is gone is not shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from penstock.operate.letters import sample
from penstock.testing.batches import Bench

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_dead_letters_that_their_owner_deleted_are_not_shown(spark: SparkSession, tmp_path: Path) -> None:
    bench = Bench(spark, tmp_path)
    bench.write([b"a", b"b", b'{"id": 1}', b"c", b"d"])
    table = bench.state / "dead_letters"
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = true)")
    spark.sql(f"DELETE FROM delta.`{table}` WHERE offset = 1")
    assert list(table.glob("deletion_vector_*")), "Spark marked the row, and left its file"
    assert sorted(row["offset"] for row in sample(str(table), 10).rows) == [0, 3, 4]
    assert sorted(row["offset"] for row in sample(str(table), 10, "invalid_json").rows) == [0, 3, 4]
    assert sample(str(table), 10, "other").rows == []
