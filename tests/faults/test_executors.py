"""F3, A3: an executor of a real cluster killed in mid-batch, and tasks that run twice at once: rows are once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka
from penstock.testing.shop import Shop
from penstock.testing.standalone import standalone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
SLOW = """
import time
import pyarrow as pa

def slow(rows: pa.RecordBatch) -> pa.RecordBatch:
    if rows.num_rows:
        time.sleep(1)
    return rows
"""


def test_an_executor_killed_in_mid_batch_is_replaced_and_the_batch_closes(tmp_path: Path, kafka: DevKafka) -> None:
    with standalone(tmp_path / "spark") as spark:
        case = Shop(tmp_path / "shop", kafka.bootstrap, "far", spark=spark.settings(), steps=[{"python": "wait:slow"}])
        (case.folder / "wait.py").write_text(SLOW)
        case.produce(4000)
        process = case.start()
        for killed in (1, 2):
            process.wait_for("batch_started", len(process.events("batch_started")) + 1)
            wait_until(spark.python_workers, "tasks run")
            victim, done = spark.executors()[0], len(process.events("batch_committed"))
            began = time.monotonic()
            victim.send_signal(signal.SIGKILL)
            process.wait_for("batch_committed", done + 1)
            recovered = time.monotonic() - began
            print(f"executor killed ({killed}): the batch closed {recovered:.1f} s later")
            case.produce(2000)
        process.signal(signal.SIGTERM)
        assert process.end() == 0, process.text
        assert "Lost executor" in (case.state / "logs" / "spark.log").read_text(), "the kill was seen"
        assert case.run().popen.returncode == 0
    verdict = case.judged()
    print(f"two executors killed: {verdict}")
    assert verdict.exact, str(verdict)
    assert verdict.read == 8000


def test_tasks_that_run_twice_at_once_write_their_rows_once(tmp_path: Path) -> None:
    """Speculation is refused in a pipeline file; here it is forced, and the first copy of a task dawdles."""
    child = Path(__file__).with_name("speculation_child.py")
    with standalone(tmp_path / "spark") as spark:
        order = json.dumps({"folder": str(tmp_path / "bench"), "spark": spark.settings()})
        done = subprocess.run(
            [sys.executable, str(child), order], capture_output=True, text=True, timeout=600, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    print(f"speculation: {told}")
    assert told["copies"] > told["tasks"], "no task ran twice: the fault did not bite"
    assert (told["lost"], told["doubled"]) == (0, 0)
