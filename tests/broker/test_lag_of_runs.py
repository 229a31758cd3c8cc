"""A pipeline seen from outside while it runs, and after it has died: lag, now.json, the Kafka group, history, gaps."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from penstock.observe import gaps, history
from penstock.observe import now as present
from penstock.observe.events import BatchCommitted, LagMeasured, ProgressNotShown
from penstock.sources.cluster import Cluster
from penstock.sources.groups import committed
from penstock.testing.group_tool import described
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, delete_records, end_offsets, ensure_topic, produce, up
from penstock.testing.runs import run_once, running
from tests.broker.cases import ids, ids_case, values
from tests.broker.held_kit import HELD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Topic = Callable[..., str]
QUICK = {"poll": "200 milliseconds"}


def asked(*args: str) -> dict[str, Any]:
    """`penstock ... --json` in a process of its own."""
    command = [sys.executable, "-m", "penstock", *args, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_kafkas_own_tool_shows_the_progress_of_a_run(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=3)
    produce(kafka.bootstrap, name, values(0, 300))
    case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}")
    run_once(spark, case)
    ends = end_offsets(kafka.bootstrap, name)
    shown = described(kafka.bootstrap, f"p-{name}")
    assert {part: (line.current, line.lag) for (_, part), line in shown.items()} == {p: (e, 0) for p, e in ends.items()}
    produce(kafka.bootstrap, name, values(300, 350), partition=1)
    assert described(kafka.bootstrap, f"p-{name}")[name, 1].lag == 50


def test_a_dead_pipelines_lag_is_the_truth_of_the_broker(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=3)
    produce(kafka.bootstrap, name, values(0, 300))
    case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}", observe={"group": f"g-{name}"})
    before = asked("lag", str(case.file))
    assert (before["lag_rows"], before["running"], before["batch_id"]) == (300, False, None)
    run_once(spark, case)
    assert asked("lag", str(case.file))["lag_rows"] == 0
    produce(kafka.bootstrap, name, values(300, 340), partition=2)
    found = asked("lag", str(case.file))
    assert (found["lag_rows"], found["group"]) == (40, f"g-{name}")
    [late] = [part for part in found["partitions"] if part["rows"]]
    assert (late["partition"], late["spark_offsets"], late["group_offsets"], late["offsets"]) == (2, 40, 40, 40)
    assert 0 < found["lag_seconds"] < 120


def test_watching_prints_a_line_a_look_and_ends_in_peace(kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 30))
    case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}")
    out = tmp_path / "watched"
    command = [sys.executable, "-m", "penstock", "lag", str(case.file), "--watch", "--every", "0.2", "--json"]
    with out.open("wb") as target:
        watching = subprocess.Popen(command, stdout=target, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: out.read_bytes().count(b"\n") >= 2, "it has looked twice")
        produce(kafka.bootstrap, name, values(30, 35))
        wait_until(lambda: b'"lag_rows": 35' in out.read_bytes(), "it has seen what came")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0, out.read_text()
    finally:
        watching.kill()
    last = json.loads(out.read_text().splitlines()[-1])
    assert last["total"]["arrival_per_second"] > 0


def test_the_lag_moves_during_a_long_batch_and_the_phase_in_hand_is_told(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=1)
    go = tmp_path / "go"
    module = f"held_{name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(HELD.format(go=str(go)))
    step = {"python": f"{module}:held"}
    produce(kafka.bootstrap, name, values(0, 10))
    case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}", steps=[step], observe=QUICK)
    with running(spark, case) as told:

        def rows() -> list[int]:
            return [event.lag.rows for event in told.of(LagMeasured)]

        wait_until(lambda: 10 in rows() or told.error, "the lag was measured")
        assert told.error is None, told.error
        wait_until(lambda: _phase(case) == "pass", "the batch is in hand")
        produce(kafka.bootstrap, name, values(10, 25))
        wait_until(lambda: rows()[-1] == 25, "the lag has moved")
        assert told.of(BatchCommitted) == []
        assert asked("lag", str(case.file))["running"] is True
        go.touch()
        wait_until(lambda: rows()[-1] == 0, "all is read")
    left = present.read(case.state)
    assert left is not None
    assert left.lag is not None
    assert (left.ended, left.lag.rows, left.in_hand) == ("stopped", 0, None)
    assert left.last_batch is not None
    assert left.last_batch.files > 0


def test_kafkas_own_tool_and_penstock_lag_say_the_same_of_a_live_pipeline(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name, go = topic(partitions=2), tmp_path / "go"
    module = f"held_{name.replace('-', '_')}"
    (tmp_path / f"{module}.py").write_text(HELD.format(go=str(go)))
    go.touch()
    produce(kafka.bootstrap, name, values(0, 30))
    case = ids_case(
        tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}", steps=[{"python": f"{module}:held"}], observe=QUICK
    )
    try:
        with running(spark, case) as told:
            told.wait_for_rows(30)
            newest = max(event.batch_id for event in told.of(BatchCommitted))
            wait_until(lambda: _shown(case, newest) is False, "the group was told")
            go.unlink()
            produce(kafka.bootstrap, name, values(30, 50), partition=0)
            wait_until(lambda: _phase(case) == "pass", "the next batch is in hand")
            produce(kafka.bootstrap, name, values(50, 57), partition=1)
            found = asked("lag", str(case.file))
            shown = {part: line.lag for (_, part), line in described(kafka.bootstrap, f"p-{name}").items()}
            go.touch()
    finally:
        go.touch()
    assert found["running"]
    assert {part["partition"]: part["offsets"] for part in found["partitions"]} == shown == {0: 20, 1: 7}


def _phase(case: Case) -> str | None:
    found = present.read(case.state)
    return found.in_hand.phase if found and found.in_hand else None


def test_what_a_run_did_is_in_its_history(spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic(partitions=2)
    produce(kafka.bootstrap, name, [*values(0, 100), b"oops"])
    case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}")
    run_once(spark, case)
    produce(kafka.bootstrap, name, values(100, 150))
    run_once(spark, case)
    batches = history.batches(case.state)
    assert sum(batches["rows"].to_pylist()) == 151
    assert sum(dict(codes).get("invalid_json", 0) for codes in batches["rejected"].to_pylist()) == 1
    assert sum(batches["files"].to_pylist()) > 0
    assert sum(batches["bytes"].to_pylist()) > 0
    assert all("pass" in dict(phases) for phases in batches["phases"].to_pylist())
    runs = history.runs(case.state)
    assert runs["event"].to_pylist() == ["started", "done", "started", "done"]
    assert len(set(runs["run"].to_pylist())) == 2


def test_offsets_go_with_the_transaction_where_source_and_sink_share_a_cluster(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name, out = topic(partitions=2), topic("out", partitions=1)
    sinks = {"out": {"kafka": {"topic": out}}}
    produce(kafka.bootstrap, name, values(0, 40))
    case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}", sinks=sinks, observe=QUICK)
    with running(spark, case) as told:
        told.wait_for_rows(40)
        wait_until(lambda: _shown(case, 0) is False, "the first batch was shown")
        produce(kafka.bootstrap, name, values(40, 70))
        told.wait_for_rows(70)
        newest = max(event.batch_id for event in told.of(BatchCommitted))
        wait_until(lambda: _shown(case, newest) is True, "a later one was shown in its transaction")
    ends = {(name, part): end for part, end in end_offsets(kafka.bootstrap, name).items()}
    assert committed(Cluster(kafka.bootstrap), f"p-{name}", ends) == ends
    assert told.of(ProgressNotShown) == []


def _shown(case: Case, batch_id: int) -> bool | None:
    """Whether this batch was shown in its transaction; None: it was not shown yet."""
    found = present.read(case.state)
    shown = found.shown if found else None
    return shown.in_transaction if shown and shown.batch_id is not None and shown.batch_id >= batch_id else None


def test_a_group_that_others_have_joined_does_not_stop_a_batch_and_is_said(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 20))
    other = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": f"p-{name}", "log_level": 0})
    try:
        other.subscribe([name])
        wait_until(lambda: other.poll(0.2) is not None or bool(other.assignment()), "the other has joined")
        case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}")
        told = run_once(spark, case)
    finally:
        other.close()
    assert ids(case) == list(range(20))
    [said] = told.of(ProgressNotShown)
    assert "consumers have joined a group of this name" in said.cause
    assert "observe: {group: ...}" in said.cause
    left = present.read(case.state)
    assert left is not None
    assert left.shown is not None
    assert left.shown.trouble


@pytest.mark.slow  # a broker of its own, with permissions
def test_a_group_that_may_not_be_written_costs_a_transaction_one_more_try_at_most(
    spark: SparkSession, tmp_path: Path
) -> None:
    strict = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    broker = up(tmp_path / "broker", child=True, extra=strict)
    try:
        for name in ("in", "out"):
            ensure_topic(broker.bootstrap, name, 1)
        produce(broker.bootstrap, "in", values(0, 10))
        case = ids_case(tmp_path, broker.bootstrap, "in", sinks={"out": {"kafka": {"topic": "out"}}}, observe=QUICK)
        with running(spark, case) as told:
            told.wait_for_rows(10)
            wait_until(lambda: _shown(case, 0) is False, "the group was told")
            _forbid(broker, "p")
            produce(broker.bootstrap, "in", values(10, 30))
            told.wait_for_rows(30)
            wait_until(lambda: told.of(ProgressNotShown), "that the group cannot be told is said")
        [said] = told.of(ProgressNotShown)
        assert "Grant Read on the group p" in said.cause
        assert sum(end_offsets(broker.bootstrap, "in").values()) == told.rows()
    finally:
        broker.stop()


def _forbid(broker: DevKafka, group: str) -> None:
    admin = Cluster(broker.bootstrap).admin
    for operation, how in ((AclOperation.ALL, AclPermissionType.ALLOW), (AclOperation.READ, AclPermissionType.DENY)):
        entry = AclBinding(
            ResourceType.GROUP, group, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, how
        )
        [done] = admin.create_acls([entry]).values()
        done.result(10)


def test_records_that_were_lost_are_kept_as_a_table(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic(partitions=1)
    produce(kafka.bootstrap, name, values(0, 20))
    source = {"on_data_loss": "skip"}
    case = ids_case(tmp_path, kafka.bootstrap, name, pipeline=f"p-{name}", source=source)
    run_once(spark, case)
    produce(kafka.bootstrap, name, values(20, 60))
    delete_records(kafka.bootstrap, name, {0: 45})
    run_once(spark, case)
    [gap] = gaps.read(case.state).to_pylist()
    assert (gap["topic"], gap["partition"], gap["start"], gap["end"], gap["offsets"]) == (name, 0, 20, 45, 25)
    assert gap["written_before"] is not None
    assert gap["estimated_bytes"] == pytest.approx(25 * 10, rel=0.2)
    assert "lost" in history.runs(case.state)["event"].to_pylist()
