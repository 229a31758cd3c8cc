"""Checkpoints that penstock writes beside its commits, in a process of their own."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.errors import SinkRefused
from penstock.sinks.delta import checkpoint
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.testing.sink_suite import freeze, key, rows, write

INTERVAL = {"delta.checkpointInterval": "4"}


def lake(table: str, **properties: str) -> DeltaCommitter:
    return DeltaCommitter("lake", table, properties={**INTERVAL, **properties})


def checkpoints(table: str) -> list[int]:
    return sorted(int(path.name[:20]) for path in (Path(table) / "_delta_log").glob("*.checkpoint.parquet"))


def grown(table: str, batches: int) -> DeltaCommitter:
    """A table with so many batches; a checkpoint that was due has been written."""
    committer = lake(table)
    for number in range(batches):
        write(committer, number, rows(2, start=2 * number))
        assert committer.upkeep.wait(120) in (None, 0)
    return committer


def test_a_checkpoint_is_written_when_it_is_due_and_the_commit_does_not_wait_for_it(table: str) -> None:
    committer = grown(table, 3)
    assert checkpoints(table) == []
    write(committer, 3, rows(1, start=6))
    assert committer.upkeep.wait(120) == 0
    assert checkpoints(table) == [4]
    pointer = json.loads((Path(table) / "_delta_log" / "_last_checkpoint").read_text())
    assert (pointer["version"], pointer["numOfAddFiles"]) == (4, 4)
    assert committer.watermark(key(0).app) == 3
    assert committer.watch.tail.checkpointed.version == 4
    for number in range(4, 10):
        write(committer, number, rows(1, start=2 * number))
        assert committer.upkeep.wait(0) is None, "the next one waits, however many commits there are"
    assert checkpoints(table) == [4]
    assert DeltaCommitter("lake", table).watermark(key(0).app) == 9


def test_a_checkpoint_that_fails_costs_no_batch_and_is_told_once(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sinks.delta.upkeep.CHILD", "penstock.no_such_module")
    monkeypatch.setattr("penstock.sinks.delta.upkeep.AGAIN_SECONDS", 0)
    committer = lake(table)
    told = []
    for number in range(8):
        receipt = write(committer, number, rows(1, start=number))
        assert receipt.how == "committed"
        told += [receipt.notice] if receipt.notice else []
        assert committer.upkeep.wait(120) in (None, 1)
    assert checkpoints(table) == []
    assert pa.table(DeltaTable(table).scan()).num_rows == 8
    assert len(told) == 1, told
    assert f"no checkpoint of the log of {table}" in told[0]
    assert "no_such_module" in told[0]


def test_a_checkpoint_that_fails_anew_is_told_anew(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.sinks.delta.upkeep.AGAIN_SECONDS", 0)
    committer = grown(table, 3)
    aside = Path(table) / "aside"
    first = Path(table) / "_delta_log" / f"{0:020d}.json"
    first.rename(aside)  # delta-rs cannot read the log; the committer does not need to
    write(committer, 3, rows(1, start=6))
    assert committer.upkeep.wait(120) == 1
    assert "no checkpoint" in write(committer, 4, rows(1, start=8)).notice
    committer.upkeep.wait(120)
    aside.rename(first)
    write(committer, 5, rows(1, start=10))
    assert committer.upkeep.wait(120) == 0
    assert write(committer, 6, rows(1, start=12)).notice == ""
    assert checkpoints(table)


def test_the_process_cleans_a_log_that_is_kept_for_a_short_time_only(table: str, spark: SparkSession) -> None:
    committer = lake(table, **{"delta.logRetentionDuration": "interval 1 hours"})
    frozen = [freeze(committer, rows(1, start=number)) for number in range(6)]
    for number in range(3):
        committer.commit(frozen[number], key(number), {})
    checkpoint.main(table)
    for path in (Path(table) / "_delta_log").iterdir():
        os.utime(path, (time.time() - 7200,) * 2)
    committer.commit(frozen[3], key(3), {})
    checkpoint.main(table)
    kept = sorted(path.name[:20] for path in (Path(table) / "_delta_log").glob("*.json"))
    assert kept == [f"{3:020d}", f"{4:020d}"]
    assert committer.commit(frozen[4], key(4), {}).version == 5
    assert DeltaCommitter("lake", table).commit(frozen[5], key(5), {}).version == 6
    here = spark.read.format("delta")
    assert sorted(row.id for row in here.load(table).collect()) == [0, 1, 2, 3, 4, 5]
    assert here.option("versionAsOf", 3).load(table).count() == 3
    assert DeltaTable(table, version=3).version() == 3


def test_spark_reads_and_restores_over_our_checkpoints(table: str, spark: SparkSession) -> None:
    committer = grown(table, 6)
    assert checkpoints(table) == [4]
    assert spark.read.format("delta").load(table).count() == 12
    assert spark.read.format("delta").option("versionAsOf", 5).load(table).count() == 10
    told = spark.sql(f"DESCRIBE HISTORY delta.`{table}`").where("version = 6").first()
    assert told is not None
    assert (told.operation, told.isBlindAppend, told.operationMetrics["numOutputRows"]) == ("WRITE", True, "2")
    spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF 5")
    assert [found.operation for found in committer.undone(key(0).app)] == ["RESTORE"]
    with pytest.raises(SinkRefused, match="restored it to version 5"):
        write(committer, 6, rows(1, start=200))
    spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF 6")
    assert committer.undone(key(0).app) == []
    assert write(committer, 6, rows(1, start=200)).how == "committed"
    assert spark.read.format("delta").load(table).count() == 13
