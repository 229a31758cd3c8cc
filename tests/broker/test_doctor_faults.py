"""Real runs of ours and jobs of plain Spark: the healthy yield nothing, and a fault planted on them is told first."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.operate.doctor import diagnose
from penstock.operate.doctor.admission import of_checkpoint
from penstock.sources.cluster import Cluster
from penstock.sources.groups import publish
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import delete_records, end_offsets, produce
from penstock.testing.runs import run_once, running
from tests.broker.cases import values
from tests.broker.doctor_kit import Broker, case_of, codes, first, report
from tests.broker.foreign_jobs_kit import records, run_to_the_end
from tests.broker.held_kit import HELD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_real_pipeline_is_healthy_while_it_runs_and_when_it_was_stopped(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic, out = broker.topic(partitions=3), broker.topic()
    sinks = {"lake": {"delta": {"table": "./lake/t"}}, "out": {"kafka": {"topic": out}}}
    case = case_of(tmp_path, broker, topic, sinks=sinks, observe={"poll": "200 milliseconds"})
    produce(broker.bootstrap, topic, values(0, 500))
    with running(spark, case) as told:
        told.wait_for_rows(500)
        for batch in range(3):
            produce(broker.bootstrap, topic, values(500 + 100 * batch, 600 + 100 * batch))
            assert codes(report(case)) == []
            told.wait_for_rows(600 + 100 * batch)
    found = report(case)
    assert codes(found) == []
    seen = {"now.json", "history", "ledger", "checkpoint", "lag", "settings", "table lake", "table dead_letters"}
    assert seen <= set(found.seen)
    assert found.unseen == {}
    _forgotten_group(case, broker, topic)
    _records_that_went(case, broker, topic)
    run_once(spark, case, accept_loss=True)
    gap = first(report(case))
    assert (gap.code, "7 offsets" in gap.cause + "".join(gap.evidence)) == ("gap_accepted", True), gap
    _harmed(case)


def _forgotten_group(case: Case, broker: Broker, topic: str) -> None:
    """Its group set back by somebody: Kafka's tools would show the wrong lag."""
    publish(Cluster(broker.bootstrap), f"p-{topic}", {(topic, part): 1 for part in range(3)})
    found = first(report(case))
    assert (found.code, "offsets behind what is committed" in found.cause) == ("group_behind", True)


def _records_that_went(case: Case, broker: Broker, topic: str) -> None:
    """Records deleted before they were read, and a run that therefore stopped."""
    ends = end_offsets(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, values(0, 300))
    delete_records(broker.bootstrap, topic, {0: ends[0] + 7})
    found = report(case)
    assert (first(found).code, "7 offsets" in first(found).cause) == ("records_gone", True)
    assert codes(found)[1] == "behind", "it was stopped, and records wait"


def _harmed(case: Case) -> None:
    """Files of its ledger and of Spark's checkpoint, cut or gone."""
    newest = max((case.state / "ledger").rglob("outcomes/*.json"), key=lambda path: int(path.stem))
    whole = newest.read_bytes()
    newest.write_bytes(whole[:40])
    assert first(report(case)).code == "damaged_ledger"
    newest.write_bytes(whole)
    (case.state / "spark" / "metadata").unlink()
    assert first(report(case)).code == "refused"


def test_rows_too_large_for_their_topic_are_told_with_its_setting(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic, out = broker.topic(), broker.topic(max_message_bytes="2000")
    decode = {"json": {"schema": "id BIGINT, text STRING"}}
    case = case_of(tmp_path, broker, topic, decode=decode, sinks={"out": {"kafka": {"topic": out}}})
    produce(broker.bootstrap, topic, [b'{"id": %d, "text": "%s"}' % (n, b"x" * 3000) for n in range(40)])
    run_once(spark, case)
    found = report(case)
    assert codes(found) == ["message_size", "reject_rate"]
    assert f"--entity-name {out}" in first(found).mend[0]


@pytest.mark.slow  # a process of its own, to be killed
def test_a_process_stopped_then_killed_in_mid_batch_is_the_cause(broker: Broker, tmp_path: Path) -> None:
    topic = broker.topic()
    (tmp_path / "held_back.py").write_text(HELD.format(go=str(tmp_path / "never")))
    case = case_of(tmp_path, broker, topic, steps=[{"python": "held_back:held"}], observe={"poll": "200 milliseconds"})
    produce(broker.bootstrap, topic, values(0, 300))
    process = case.start()
    try:
        process.wait_for("batch_started")
        wait_until(lambda: b'"pass"' in (case.state / "progress" / "now.json").read_bytes(), "it has told its phase")
        assert codes(report(case)) == []
        process.signal(signal.SIGSTOP)
        silent = first(report(case, at=time.time() + 600))
        assert (silent.code, f"kill -9 {process.popen.pid}" in silent.mend[0]) == ("silent", True), silent
    finally:
        process.kill()
    found = first(report(case))
    assert (found.code, "in the middle of batch 0" in found.cause) == ("killed", True), found
    assert any("offsets are ahead of commits" in line for line in found.evidence)


# jobs that penstock never ran


HOUR = 3600.0


def asked(checkpoint: Path, broker: Broker, *more: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "penstock", "doctor", "--checkpoint", str(checkpoint), "--json"]
    done = subprocess.run(
        [*command, "--brokers", broker.bootstrap, *more], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow  # two runs of a plain job into a table
def test_a_plain_spark_job_is_healthy_then_dead_then_loses_records(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    topic, checkpoint, table = broker.topic(partitions=2), tmp_path / "checkpoint", tmp_path / "table"
    for number in range(2):
        produce(broker.bootstrap, topic, [b"v"] * 60)
        run_to_the_end(records(spark, broker.kafka, topic).selectExpr("CAST(value AS STRING) AS v"), checkpoint, table)
        shutil.copytree(checkpoint, tmp_path / ("old" if number == 0 else "new"))
    assert asked(tmp_path / "old", broker, "--table", str(table))[1]["findings"][0]["code"] == "table_ahead"
    (tmp_path / "old" / "offsets" / "0").write_bytes(b"")
    assert asked(tmp_path / "old", broker)[1]["findings"][0]["code"] == "damaged_checkpoint"
    code, found = asked(checkpoint, broker, "--table", str(table))
    assert (code, found["findings"]) == (0, [])
    assert {"checkpoint", "brokers", "lag", "table table"} <= set(found["seen"])
    produce(broker.bootstrap, topic, [b"v"] * 500)
    for path in (checkpoint / "commits").iterdir():
        os.utime(path, (time.time() - 3 * HOUR, time.time() - 3 * HOUR))
    code, found = asked(checkpoint, broker)
    assert (code, found["findings"][0]["code"]) == (5, "behind")
    assert "its last commit is 3.0 h old, and 500 rows wait" in found["cause"]
    delete_records(broker.bootstrap, topic, {0: end_offsets(broker.bootstrap, topic)[0]})
    code, found = asked(checkpoint, broker)
    assert (code, found["findings"][0]["code"]) == (5, "records_gone")


def test_a_plain_job_that_cannot_keep_up_is_told_by_what_comes_and_what_it_reads(
    broker: Broker, tmp_path: Path
) -> None:
    """Its logs are as Spark writes them: sixty batches back to back, ten rows a second."""
    topic = broker.topic()
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    (tmp_path / "metadata").write_text('{"id":"7a0e3b6c-0000-4000-8000-000000000000"}')
    for number in range(60):
        at = time.time() - 600 + 10 * number
        about = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": int(at * 1000), "conf": {}})
        ends = json.dumps({topic: {"0": 100 * (number + 1)}})
        (tmp_path / "offsets" / str(number)).write_text(f"v1\n{about}\n{ends}")
        (tmp_path / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        os.utime(tmp_path / "offsets" / str(number), (at, at))
        os.utime(tmp_path / "commits" / str(number), (at + 9.9, at + 9.9))
    produce(broker.bootstrap, topic, [b"v"] * 6000)
    assert diagnose(of_checkpoint(tmp_path, broker.bootstrap)).findings == (), "it has read all of it"
    produce(broker.bootstrap, topic, [b"v"] * 12_000)
    found = first(diagnose(of_checkpoint(tmp_path, broker.bootstrap)))
    assert (found.code, "12,000 rows wait" in found.evidence[0]) == ("under_provisioned", True), found
