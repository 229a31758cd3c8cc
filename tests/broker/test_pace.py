"""The governor on a real broker: the read limit of a running query changes, a slow sink is noticed, a pause holds."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.dev.oracle import rows
from penstock.engine import governor as governing
from penstock.engine import valve
from penstock.engine.run import Run, RunOptions
from penstock.errors import Refused
from penstock.observe.events import BatchCommitted, Paced, RunStarted
from penstock.pace import law
from penstock.pace.memory import path_in, recall
from penstock.spec import load_pipeline
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, produce
from penstock.testing.runs import Told, run_once
from tests.broker.cases import ids, ids_case, values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Topic = Callable[..., str]


@contextmanager
def governed(spark: SparkSession, case: Case) -> Iterator[tuple[Told, Run]]:
    """A run without an end, and the handle of it; stopped when the block ends."""
    told = Told()
    options = RunOptions(file=case.file.name)
    run = Run(load_pipeline(case.file), options, told.events.append, told.stopping, spark)

    def target() -> None:
        try:
            run.to_the_end()
        except BaseException as error:
            told.error = error

    thread = threading.Thread(target=target)
    thread.start()
    try:
        yield told, run
    finally:
        told.stopping.set()
        thread.join(120)
    assert not thread.is_alive()
    if told.error is not None:
        raise told.error


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A first batch of a few rows: what happens to millions happens to hundreds."""
    monkeypatch.setattr(law, "FIRST_ROWS", 40)
    monkeypatch.setattr(law, "LEAST_ROWS", 10)


def sizes(told: Told) -> list[int]:
    return [event.read for event in told.of(BatchCommitted)]


@pytest.mark.usefixtures("small_steps")
def test_a_cold_backlog_starts_small_and_grows_in_one_query(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic("orders", partitions=2)
    produce(kafka.bootstrap, name, values(0, 3000))
    case = ids_case(tmp_path, kafka.bootstrap, name, pace={"max_rows": 1000, "batch_target": "10 minutes"})
    with governed(spark, case) as (told, run):
        told.wait_for_rows(3000)
        assert run.governor.live
    assert sizes(told)[0] in (39, 40), "Spark rounds down what it shares out over partitions"
    assert max(sizes(told)) <= 1000
    assert max(sizes(told)) > 300, "the limit grew while the query ran"
    assert len(told.of(RunStarted)) == 1
    paced = told.of(Paced)
    assert paced[0].before == 40
    assert paced[0].backlog == 3000 - sizes(told)[0]
    assert paced[0].caught_up_in is not None
    assert "more waits" in paced[0].reason
    assert ids(case) == list(range(3000))
    known = recall(path_in(case.state))
    assert known is not None, "the next run does not start from nothing"
    assert known.limit > 40


@pytest.mark.usefixtures("small_steps")
def test_a_bounded_run_is_governed_too(spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic("orders", partitions=2)
    produce(kafka.bootstrap, name, values(0, 2000))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    told = run_once(spark, case)
    assert sizes(told)[0] in (39, 40)
    assert len(sizes(told)) < 10, f"a limit that stood still would have taken 50 batches, not {sizes(told)}"
    assert ids(case) == list(range(2000))


def looked_at(query: StreamingQuery) -> Any:
    """When Spark last told of this query."""
    report = query.lastProgress
    return report["timestamp"] if report is not None else None


@pytest.mark.usefixtures("small_steps")
def test_a_pause_reads_nothing_and_a_resume_goes_on(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic("orders", partitions=2)
    produce(kafka.bootstrap, name, values(0, 100))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    with governed(spark, case) as (told, run):
        told.wait_for_rows(100)
        assert run.governor.pause()
        produce(kafka.bootstrap, name, values(100, 200))
        query = spark.streams.active[0]
        seen = looked_at(query)
        wait_until(lambda: looked_at(query) != seen, "Spark looked at the topic again")
        assert query.isActive
        assert told.rows() == 100, "nothing was read while it was paused"
        assert run.governor.resume()
        told.wait_for_rows(200)
    assert [event.reason for event in told.of(Paced) if event.batch_id is None] == ["paused", "resumed"]
    assert ids(case) == list(range(200))


def slow_function(folder: Path) -> str:
    """A step that takes its time with every row once a file is there: a sink or a service that got slow."""
    (folder / "slow_step.py").write_text(
        "import time\nfrom pathlib import Path\n\nimport pyarrow as pa\n\n\n"
        "def slow(rows: pa.RecordBatch) -> pa.RecordBatch:\n"
        f"    if Path({str(folder / 'slow')!r}).exists():\n"
        "        time.sleep(0.02 * rows.num_rows)\n"
        "    return rows\n"
    )
    return "slow_step:slow"


@pytest.mark.slow
@pytest.mark.usefixtures("small_steps")
def test_a_pipeline_that_gets_slow_reads_less_at_once(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic("orders", partitions=1)
    produce(kafka.bootstrap, name, values(0, 1000))
    steps: list[dict[str, Any]] = [{"python": slow_function(tmp_path)}]
    pace = {"batch_target": "3 seconds", "max_rows": 500}
    case = ids_case(tmp_path, kafka.bootstrap, name, steps=steps, pace=pace)
    with governed(spark, case) as (told, _run):
        told.wait_for_rows(1000)
        (tmp_path / "slow").touch()
        before = len(sizes(told))
        produce(kafka.bootstrap, name, values(1000, 2000))
        wait_until(lambda: len(sizes(told)) >= before + 3, "three slow batches")
        slow = sizes(told)[before : before + 3]
        (tmp_path / "slow").unlink()
        told.wait_for_rows(2000)
    assert slow[1] < 300 or slow[2] < 300, f"500 rows take 10 s now, and 3 were wanted: {slow}"
    assert any(event.reason.startswith("too long") for event in told.of(Paced))
    assert ids(case) == list(range(2000))


@pytest.mark.usefixtures("small_steps")
def test_where_the_limit_cannot_be_changed_live_the_query_is_restarted_at_a_batch_boundary(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(valve, "TRIED", ("0.",))
    monkeypatch.setattr(governing, "RESTART_SECONDS", 0.0)
    name = topic("orders", partitions=2)
    produce(kafka.bootstrap, name, values(0, 2000))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    with governed(spark, case) as (told, run):
        told.wait_for_rows(2000)
        assert not run.governor.live
        assert not run.governor.pause()
    assert len(told.of(RunStarted)) > 1
    assert max(sizes(told)) > 40
    assert ids(case) == list(range(2000))


def test_a_hot_partition_is_split_over_tasks(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic("orders", partitions=1)
    produce(kafka.bootstrap, name, values(0, 1000))
    case = ids_case(tmp_path, kafka.bootstrap, name, source={"task_rows": 250})
    told = run_once(spark, case)
    assert sizes(told) == [1000]
    assert ids(case) == list(range(1000))
    assert len(list(case.table().glob("*.parquet"))) == 4, "a file a task"


@pytest.mark.usefixtures("small_steps")
def test_by_topic_a_flooded_topic_does_not_hold_up_a_small_one(
    spark: SparkSession, kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    flood, small = topic("flood", partitions=2), topic("small", partitions=1)
    produce(kafka.bootstrap, flood, values(0, 500))
    produce(kafka.bootstrap, small, values(500, 520))
    pace = {"fair": "by_topic", "max_rows": 100, "batch_target": "10 minutes"}
    case = ids_case(tmp_path, kafka.bootstrap, source={"topics": [small, flood]}, pace=pace)
    with governed(spark, case) as (told, run):
        told.wait_for_rows(40)
        first = {row[0] for row in rows(case.table(), "_topic, _offset") if row[0] == small}
        assert first, "the small topic was read with the first batch"
        told.wait_for_rows(520)
        assert run.governor.live
        produce(kafka.bootstrap, small, values(520, 530))
        told.wait_for_rows(530)
    assert max(sizes(told)) <= 100
    assert ids(case) == list(range(530))
    told = run_once(spark, case)
    assert told.rows() == 0, "the next run goes on where both stand"
    case.spec["pace"] = {"max_rows": 100}
    case.write()
    with pytest.raises(Refused, match="the checkpoint has 2 sources"):
        run_once(spark, case)
