"""Plain Spark jobs that penstock never ran: their checkpoints read, their lag measured, their progress published."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import Refused
from penstock.operate.foreign import look
from penstock.operate.lagging import OfCheckpoint
from penstock.testing.group_tool import described
from penstock.testing.kafka import DevKafka, end_offsets, produce
from tests.broker.foreign_jobs_kit import records, run_to_the_end

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Topic = Callable[..., str]


def asked(*args: str, code: int = 0) -> dict[str, Any]:
    command = [sys.executable, "-m", "penstock", *args, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return dict(json.loads(done.stdout))


def test_a_plain_jobs_lag_is_the_truth_and_kafkas_own_tool_shows_it_once_it_is_published(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=3)
    produce(kafka.bootstrap, name, [b"v"] * 90)
    checkpoint, table = tmp_path / "checkpoint", tmp_path / "table"
    run_to_the_end(records(spark, kafka, name).selectExpr("CAST(value AS STRING) AS v"), checkpoint, table)
    before = sorted((path, path.stat().st_mtime_ns) for path in checkpoint.rglob("*"))
    ends = end_offsets(kafka.bootstrap, name)
    produce(kafka.bootstrap, name, [b"v"] * 12, partition=1)
    found = asked("lag", "--checkpoint", str(checkpoint), "--brokers", kafka.bootstrap, "--publish", f"spy-{name}")
    assert (found["lag_rows"], found["published"]) == (12, f"spy-{name}")
    assert found["checkpoint"]["findings"] == []
    positions = {part["partition"]: part["position"] for part in found["partitions"]}
    assert positions == ends
    shown = described(kafka.bootstrap, f"spy-{name}")
    assert {part: (line.current, line.lag) for (_, part), line in shown.items()} == {
        part: (end, 12 if part == 1 else 0) for part, end in ends.items()
    }
    assert sorted((path, path.stat().st_mtime_ns) for path in checkpoint.rglob("*")) == before, "it is only read"
    health = asked("checkpoint", "show", str(checkpoint), "--table", str(table))["table"]
    assert health["batch_id"] == look(checkpoint).committed, "the table knows the query's batches by its id"
    assert health["files"] == health["small_files"] > 0


def test_two_sources_a_file_source_and_state_are_told_apart(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    one, two = topic(partitions=2), topic(partitions=1)
    produce(kafka.bootstrap, one, [b"v"] * 20)
    produce(kafka.bootstrap, two, [b"w"] * 5)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("x\ny\n")
    texts = spark.readStream.text(str(tmp_path / "files")).selectExpr("value AS v")
    kafkas = [records(spark, kafka, name).selectExpr("CAST(value AS STRING) AS v") for name in (one, two)]
    counted = kafkas[0].union(kafkas[1]).union(texts).groupBy("v").count()
    run_to_the_end(counted, tmp_path / "checkpoint", None, "complete")
    found = look(tmp_path / "checkpoint")
    assert sorted(found.kinds) == ["files", "kafka", "kafka"]
    assert sum(found.positions.values()) == 25
    assert found.state is not None
    assert found.state.operators >= 1
    assert found.state.bytes > 0
    assert found.findings == ()
    reading = OfCheckpoint(tmp_path / "checkpoint", kafka.bootstrap)
    assert reading.measure().lag.rows == 0
    produce(kafka.bootstrap, two, [b"w"] * 3)
    assert reading.measure().lag.rows == 3
    reading.close()


def test_a_job_that_died_in_a_batch_has_an_unfinished_one_and_its_lag_counts_from_before_it(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, [b"v"] * 10)
    checkpoint = tmp_path / "checkpoint"

    def die_at_the_second(_rows: DataFrame, batch_id: int) -> None:
        if batch_id == 1:
            raise ValueError("the sink is away")

    def run() -> None:
        writer = records(spark, kafka, name).writeStream.foreachBatch(die_at_the_second)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        query.awaitTermination(120)

    run()
    produce(kafka.bootstrap, name, [b"v"] * 7)
    with pytest.raises(Exception, match="the sink is away"):
        run()
    found = look(checkpoint)
    assert (found.committed, found.unfinished, found.stuck) == (0, 1, False)
    reading = OfCheckpoint(checkpoint, kafka.bootstrap)
    lag = reading.measure().lag
    assert (lag.rows, lag.partitions[0].spark_offsets) == (7, 0), "Spark itself would say that nothing is left"
    reading.close()
    shown = asked("checkpoint", "show", str(checkpoint))
    assert (shown["planned"], shown["committed"], shown["unfinished"]) == (1, 0, 1)


def test_a_damaged_checkpoint_of_a_real_job_is_told_with_what_may_be_done(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=1)
    checkpoint = tmp_path / "checkpoint"
    for _ in range(3):
        produce(kafka.bootstrap, name, [b"v"] * 5)
        run_to_the_end(records(spark, kafka, name).select("value"), checkpoint)
    assert look(checkpoint).findings == ()
    cut = shutil.copytree(checkpoint, tmp_path / "cut")
    (cut / "commits" / "2").unlink()
    (cut / "commits" / ".2.crc").unlink()
    (cut / "offsets" / "2").write_bytes((cut / "offsets" / "2").read_bytes()[:40])
    shown = asked("checkpoint", "show", str(cut), code=1)
    assert [finding["code"] for finding in shown["findings"]] == ["half_written"]
    edited = shutil.copytree(checkpoint, tmp_path / "edited")
    path = edited / "offsets" / "2"
    path.write_text(path.read_text().replace('{"0":15}', '{"0":12}'))
    assert [finding.code for finding in look(edited).findings] == ["checksum"]
    lost = shutil.copytree(checkpoint, tmp_path / "lost")
    (lost / "metadata").unlink()
    assert [finding.code for finding in look(lost).findings] == ["no_metadata"]
    with pytest.raises(Refused, match="there is no checkpoint"):
        look(tmp_path)
