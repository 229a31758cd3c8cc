"""State on a real HDFS: killed and run again on a machine that lost its disk, two drivers: nothing lost or doubled."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import Unavailable
from penstock.hadoop import HadoopFiles
from penstock.testing.harness import wait_until
from penstock.testing.hdfs import hdfs, kill_name_node, start_name_node
from penstock.testing.kafka import DevKafka
from penstock.testing.shop import Shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
PLACES = ["after:intent", "after:pass", "after:freeze", "after:tables:lake", "before:topics:commit", "before:return"]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("hdfs")


@pytest.fixture(scope="module")
def cluster(spark: SparkSession, place: Path) -> Iterator[str]:
    with hdfs(place) as uri:
        files = HadoopFiles(spark, uri)

        def answers() -> bool:
            try:
                return files.create_once(f"{uri}/answers", b"yes") == b"yes"
            except Unavailable:
                return False

        wait_until(answers, "the data node answers", 180)
        yield uri


def _verb(case: Shop, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=case.folder)


def test_killed_everywhere_and_run_again_nothing_is_lost_or_doubled(
    cluster: str, kafka: DevKafka, tmp_path: Path
) -> None:
    case = Shop(tmp_path, kafka.bootstrap, "afar", state=f"{cluster}/state/afar")
    case.produce(2000)
    work = tmp_path / ".penstock" / "here" / "afar"
    for number, place in enumerate(PLACES):
        killed = case.run(env={"PENSTOCK_FAILPOINT": f"{place}@{1 + number % 2}"})
        assert killed.popen.returncode == -signal.SIGKILL, f"{place} was not reached:\n{killed.text}"
        assert list(work.glob("stage/g1/*/*.parquet")) or place == "after:intent", "rows were frozen on this machine"
        shutil.rmtree(work)  # the next run is on another machine
        case.produce(1000)
    began = time.monotonic()
    last = case.start("--once")
    last.wait_for("batch_committed")
    recovered = time.monotonic() - began
    assert last.end() == 0, last.text
    verdict = case.judged()
    print(f"state on HDFS, {len(PLACES)} kills: {verdict}; first batch after {recovered:.1f} s")
    assert verdict.exact, str(verdict)
    assert verdict.read == 2000 + 1000 * len(PLACES)
    assert not (tmp_path / "state").exists(), "nothing of the state is on this machine"
    _verbs_work(case)


def _verbs_work(case: Shop) -> None:
    status = json.loads(_verb(case, "status", case.file.name, "--json").stdout)
    assert status["running"] is None
    assert status["read"] == 2000 + 1000 * len(PLACES)
    audit = _verb(case, "audit", case.file.name, "--deep", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    found: dict[str, Any] = json.loads(audit.stdout)
    assert (found["lost"], found["doubled"]) == (0, 0)
    opened = _verb(case, "new-generation", case.file.name)
    assert opened.returncode == 0, opened.stdout + opened.stderr
    assert "Generation 2 goes on" in opened.stdout
    case.produce(500)
    assert case.run().popen.returncode == 0
    assert case.judged().exact


def test_a_second_driver_is_refused_and_told_who_the_first_is(cluster: str, kafka: DevKafka, tmp_path: Path) -> None:
    case = Shop(tmp_path, kafka.bootstrap, "twice", state=f"{cluster}/state/twice")
    case.produce(500)
    first = case.start()
    first.wait_for("batch_committed")
    second = case.run()
    assert second.popen.returncode == 3, second.text
    assert f"running already: process {first.popen.pid}" in second.text
    first.signal(signal.SIGTERM)
    assert first.end() == 0, first.text
    assert case.run().popen.returncode == 0
    assert case.judged().exact


def test_a_name_node_that_dies_and_comes_back_costs_nothing_but_time(
    cluster: str, place: Path, kafka: DevKafka, tmp_path: Path
) -> None:
    case = Shop(tmp_path, kafka.bootstrap, "away", state=f"{cluster}/state/away")
    case.produce(500)
    process = case.start()
    process.wait_for("batch_committed")
    kill_name_node(place)
    case.produce(1000)
    process.wait_for("waiting")
    late = case.start("--once")  # and one that is started meanwhile waits as well
    again = start_name_node(place)
    try:
        began, done = time.monotonic(), len(process.events("batch_committed"))
        process.wait_for("batch_committed", done + 1)
        print(f"name node away: next batch {time.monotonic() - began:.1f} s after it was started again")
        assert late.end() == 3, "the first one has the lease"
        process.signal(signal.SIGTERM)
        assert process.end() == 0, process.text
        assert case.run().popen.returncode == 0
        verdict = case.judged()
        print(f"name node killed: {verdict}")
        assert verdict.exact, str(verdict)
        assert verdict.read == 1500
    finally:
        again.kill()
        again.wait()
