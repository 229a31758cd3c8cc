"""Our commits and Spark's into one table at the same time, from two processes."""

from __future__ import annotations

import json
import multiprocessing
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.sinks.contract import Frozen
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.harness import wait_until
from penstock.testing.sink_suite import freeze, key, rows

BATCHES = 60


def _commit_all(table: str, shares: list[Frozen], barrier: Any, answers: Any) -> None:
    committer = DeltaCommitter("lake", table)
    barrier.wait(timeout=120)
    answers.put([committer.commit(share, key(number), {}).how for number, share in enumerate(shares)])


def until_no_conflict(spark: SparkSession, statement: str) -> None:
    """Run it until no other writer comes in between, as a person would."""

    def once() -> bool:
        try:
            spark.sql(statement)
        except PySparkException as error:
            if "oncurrent" not in str(error):
                raise
            return False
        return True

    wait_until(once, f"this went through: {statement}", 120)


def test_spark_and_we_lose_nothing_of_each_other(table: str, spark: SparkSession) -> None:
    committer = DeltaCommitter("lake", table)
    shares = [freeze(committer, rows(1, start=number), tag=str(number)) for number in range(BATCHES)]
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(2), context.Queue()
    rival = context.Process(target=_commit_all, args=(table, shares, barrier, answers))
    rival.start()
    here = f"delta.`{table}`"
    one = spark.read.format("delta").load(table).schema
    barrier.wait(timeout=120)
    for number in range(4):
        extra = spark.createDataFrame([(1000 + number, *[None] * (len(one) - 1))], one)
        extra.write.format("delta").mode("append").save(table)
    until_no_conflict(spark, f"OPTIMIZE {here}")
    until_no_conflict(spark, f"ALTER TABLE {here} ADD COLUMN more INT")
    until_no_conflict(spark, f"DELETE FROM {here} WHERE id = 1000")
    assert answers.get(timeout=120) == ["committed"] * BATCHES
    rival.join(timeout=30)
    found = sorted(row.id for row in spark.read.format("delta").load(table).select("id").collect())
    assert found == [*range(BATCHES), 1001, 1002, 1003]
    versions = sorted(int(path.stem) for path in (Path(table) / "_delta_log").glob("*.json"))
    assert versions == list(range(versions[-1] + 1))
    assert committer.watermark(key(0).app) == BATCHES - 1


def test_a_batch_of_spark_s_own_writer_under_our_key_at_the_same_moment_is_there_once(
    table: str, spark: SparkSession
) -> None:
    """Spark commits the batch under our application id between our look and our commit: ours recognises it."""
    committer = DeltaCommitter("lake", table)
    frozen = freeze(committer, rows(1))
    committer.verify(frozen, key(0))
    told = json.dumps({"app": key(0).app, "batch_id": 0, "digest": key(0).digest, "rows": 1})
    one = spark.read.format("delta").load(table).schema
    extra = spark.createDataFrame([(0, *[None] * (len(one) - 1))], one)
    extra.write.format("delta").mode("append").options(txnAppId=key(0).app, txnVersion=0, userMetadata=told).save(table)
    assert committer.commit(frozen, key(0), {}).how == "recognised"
    assert spark.read.format("delta").load(table).count() == 1
