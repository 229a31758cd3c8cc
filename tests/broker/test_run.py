"""Running and stopping, on a real broker: signals, a second runner, a broker that goes away and comes back."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from penstock.engine import watch
from penstock.errors import Refused
from penstock.observe.events import BatchCommitted, Recovered, Waiting
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, produce, up
from penstock.testing.runs import run_once, running
from tests.broker.cases import ids, ids_case, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_signal_lets_the_batch_in_hand_finish_and_ends_with_0(
    kafka: DevKafka, topic: Topic, tmp_path: Path, number: int
) -> None:
    name = topic()
    produce(kafka.bootstrap, name, values(0, 20_000))
    case = ids_case(tmp_path, kafka.bootstrap, name, pace={"max_rows": 1000})
    process = case.start()
    process.wait_for("batch_started", 2)
    process.signal(number)
    assert process.end() == 0, process.text
    [ended] = process.events("run_ended")
    assert ended["reason"] == "stopped"
    assert len(process.events("batch_started")) == len(process.events("batch_committed")), "none was cut off"
    assert "Traceback" not in process.text
    read = sum(event["read"] for event in process.events("batch_committed"))
    assert ids(case) == sorted(ids(case))
    assert len(ids(case)) == read < 20_000


def test_a_second_runner_is_refused_and_told_who_runs(kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic()
    produce(kafka.bootstrap, name, values(0, 10))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    first = case.start()
    first.wait_for("batch_committed")
    second = case.run()
    assert second.popen.returncode == 3
    assert f"running already: process {first.popen.pid}" in second.text
    status = case.status()
    assert status["running"]["pid"] == first.popen.pid
    assert status["batch_id"] == 0
    assert status["sinks"] == {"lake": {"version": 1, "rows": 10}}
    first.signal(signal.SIGTERM)
    assert first.end() == 0
    assert case.status()["running"] is None


def test_the_embedded_broker_of_a_killed_run_does_not_outlive_it(tmp_path: Path) -> None:
    case = ids_case(tmp_path, "", "t", source={"brokers": "dev"})
    process = case.start()
    started = process.wait_for("run_started")
    port = int(started["brokers"].rpartition(":")[2])
    produce(started["brokers"], "t", values(0, 5))
    process.wait_for("batch_committed")
    process.kill()

    def listening() -> bool:
        found = psutil.net_connections("tcp")
        return any(c.laddr and c.laddr.port == port and c.status == psutil.CONN_LISTEN for c in found)

    wait_until(lambda: not listening(), "the broker has ended with its run", 30)
    again = case.run()
    assert again.popen.returncode == 0, again.text
    assert ids(case) == [0, 1, 2, 3, 4], "topics and offsets stay between runs"


def test_a_broker_that_goes_away_is_waited_for_and_nothing_is_lost(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "SILENCE_SECONDS", 3.0)
    broker = up(tmp_path / "kafka", child=True)
    ensure_topic(broker.bootstrap, "t", 2)
    produce(broker.bootstrap, "t", values(0, 10))
    case = ids_case(tmp_path, broker.bootstrap, "t", source={"brokers": [broker.bootstrap]})
    try:
        with running(spark, case) as told:
            told.wait_for_rows(10)
            broker.kill()
            wait_until(lambda: told.of(Waiting), "the outage was told")
            broker = up(tmp_path / "kafka", child=True)
            produce(broker.bootstrap, "t", values(10, 20))
            told.wait_for_rows(20)
        assert len(told.of(Waiting)) == 1, "said once"
        assert "no broker of" in told.of(Waiting)[0].cause
        assert told.of(Recovered)
    finally:
        broker.stop()
    assert ids(case) == list(range(20))


def _once(spark: SparkSession, kafka: DevKafka, topic: Topic, folder: Path) -> Case:
    """A pipeline that has run: two batches of five."""
    name = topic()
    produce(kafka.bootstrap, name, values(0, 10))
    case = ids_case(folder, kafka.bootstrap, name, pace={"max_rows": 5})
    run_once(spark, case)
    return case


def _delete_state(case: Case) -> None:
    shutil.rmtree(case.state)


def _delete_checkpoint(case: Case) -> None:
    shutil.rmtree(case.state / "spark")


def _delete_offsets_and_commits(case: Case) -> None:
    shutil.rmtree(case.state / "spark" / "offsets")
    shutil.rmtree(case.state / "spark" / "commits")


def _older_checkpoint(case: Case) -> None:
    newest = max(int(path.name) for path in (case.state / "spark" / "commits").iterdir() if path.name.isdecimal())
    for folder in ("offsets", "commits"):
        (case.state / "spark" / folder / str(newest)).unlink()


def _delete_ledger(case: Case) -> None:
    shutil.rmtree(case.state / "ledger")


def _older_state(case: Case) -> None:
    _older_checkpoint(case)
    newest = max((case.state / "ledger" / "g1" / "outcomes").iterdir(), key=lambda path: int(path.stem))
    newest.unlink()


def _drop_table(case: Case) -> None:
    shutil.rmtree(case.table())


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (_delete_state, r"state folder .* is empty"),
        (_delete_checkpoint, "the checkpoint is gone"),
        (_delete_offsets_and_commits, "the checkpoint is gone"),
        (_older_checkpoint, "the checkpoint ends at batch"),
        (_delete_ledger, "no ledger beside it"),
        (_older_state, "The sink is ahead"),
        (_drop_table, "has none of this pipeline"),
    ],
)
def test_a_state_that_disagrees_with_its_tables_is_refused(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path, harm: Callable[[Case], None], words: str
) -> None:
    case = _once(spark, kafka, topic, tmp_path)
    before = ids(case)
    harm(case)
    with pytest.raises(Refused, match=words) as refused:
        run_once(spark, case)
    assert refused.value.exit_code == 3
    assert "Nothing was written" in str(refused.value)
    assert ids(case) == ([] if harm is _drop_table else before)


def test_rm_rf_state_ends_with_3_and_names_the_way_on(kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic()
    produce(kafka.bootstrap, name, values(0, 10))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    assert case.run().popen.returncode == 0
    shutil.rmtree(case.state)
    refused = case.run()
    assert refused.popen.returncode == 3
    assert f"penstock new-generation {case.file}" in refused.text
    assert ids(case) == list(range(10))


def _new_generation(case: Case, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "new-generation", str(case.file), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_new_generation_goes_on_after_the_last_finished_batch(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = _once(spark, kafka, topic, tmp_path)
    _delete_checkpoint(case)
    done = _new_generation(case)
    assert done.returncode == 0, done.stderr
    produce(kafka.bootstrap, case.spec["source"]["kafka"]["topics"][0], values(10, 15))
    told = run_once(spark, case)
    assert told.rows() == 5
    assert ids(case) == list(range(15))
    assert case.status()["generation"] == 2


def test_a_new_generation_without_a_ledger_must_be_told_to_read_again(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = _once(spark, kafka, topic, tmp_path)
    _delete_state(case)
    refused = _new_generation(case)
    assert refused.returncode == 3
    assert "--from source" in refused.stderr
    done = _new_generation(case, "--from", "source")
    assert done.returncode == 0, done.stderr
    run_once(spark, case)
    assert ids(case) == sorted([*range(10), *range(10)]), "read again, as the verb said"


def test_a_driver_of_a_closed_generation_can_commit_nothing(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    case = _once(spark, kafka, topic, tmp_path)
    old = tmp_path / "old-state"
    shutil.copytree(case.state, old)
    assert _new_generation(case).returncode == 0
    produce(kafka.bootstrap, case.spec["source"]["kafka"]["topics"][0], values(10, 15))
    left_over = Case(tmp_path, {**case.spec, "state": str(old), "dead_letters": {"delta": "./lake/dead"}})
    with pytest.raises(Refused):
        run_once(spark, left_over)
    case.write()
    run_once(spark, case)
    assert ids(case) == list(range(15))


def test_the_terminal_shows_our_lines_and_nothing_of_sparks(kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic()
    produce(kafka.bootstrap, name, [*values(0, 10), b"oops"])
    case = ids_case(tmp_path, kafka.bootstrap, name)
    command = [sys.executable, "-m", "penstock", "run", str(case.file), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=dict(os.environ))
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    strange = [line for line in lines if not re.match(r"\d\d:\d\d:\d\d  p: ", line)]
    assert strange == [], "a busy machine may add a line of ours (pace, an alert); none may be anybody else's"
    assert "running, generation 1, first run" in lines[0]
    for told in ("11 read, 10 written, 1 rejected (invalid_json 1)", "done: 1 batch in"):
        assert sum(told in line for line in lines) == 1, done.stdout
    assert (case.state / "logs" / "spark.log").exists()


def test_one_commit_of_the_table_tells_the_batch(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    import json

    from deltalake import DeltaTable

    case = _once(spark, kafka, topic, tmp_path)
    commits = [
        json.loads(entry["userMetadata"])
        for entry in DeltaTable(str(case.table())).history()
        if "userMetadata" in entry
    ]
    assert sorted(commit["batch_id"] for commit in commits) == list(range(len(commits)))
    assert sum(commit["rows"] for commit in commits) == 10
    covered = sorted(
        (part[1], offset) for commit in commits for part in commit["ranges"] for offset in range(*part[2:])
    )
    assert len(covered) == len(set(covered)) == 10


def test_committed_batches_are_told_with_their_phases(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic()
    produce(kafka.bootstrap, name, values(0, 10))
    told = run_once(spark, ids_case(tmp_path, kafka.bootstrap, name))
    [batch] = told.of(BatchCommitted)
    assert {"intent", "pass", "conserve", "freeze", "tables"} <= set(batch.phases)
