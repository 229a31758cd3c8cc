"""Faults that time or a retry can cure: the run goes on by itself, and nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from penstock.testing.harness import Process, wait_until


def _workers(pid: int) -> list[psutil.Process]:
    """The Python workers that run tasks: children of Spark's daemon."""
    return [each for each in psutil.Process(pid).children(recursive=True) if _is_worker(each)]


def _is_worker(process: psutil.Process) -> bool:
    """Spark's daemon is the parent of the workers, and is named as they are."""
    try:
        mother = process.parent()
        return all(each and "pyspark.daemon" in " ".join(each.cmdline()) for each in (process, mother))
    except psutil.Error:
        return False  # it ended while we looked


def test_a_worker_killed_in_mid_batch_is_replaced_and_the_batch_closes(payments_case: Callable[..., Any]) -> None:
    case = payments_case()
    case.produce(100_000)
    process = case.start("--once")
    victims = wait_until(lambda: _workers(process.popen.pid), "tasks run")
    for victim in victims:
        victim.send_signal(signal.SIGKILL)
    assert process.end() == 0, process.text
    assert "Task" in (case.state / "logs" / "spark.log").read_text(), "Spark saw a task fail"
    counted = case.counted()
    assert counted.exact, (counted.lost[:5], counted.doubled[:5], counted.misjudged[:5])
    assert counted.read == 100_000


@pytest.mark.slow
def test_a_full_disk_is_waited_for_and_told_once(payments_case: Callable[..., Any], tmp_path: Path) -> None:
    """The table lies on a small file system of the process's own; the test frees room through /proc."""
    case = payments_case(observe={"poll": "1 second"})
    case.produce(50_000)
    lake = tmp_path / "lake"
    lake.mkdir()
    out = tmp_path / "full.out"
    script = f"mount -t tmpfs -o size=4m tmpfs {lake} && head -c 3500000 /dev/zero > {lake}/ballast && exec "
    script += f"{sys.executable} -m penstock run {case.file} --json"
    with out.open("wb") as target:
        popen = subprocess.Popen(
            ["unshare", "-rm", "sh", "-c", script], stdout=target, stderr=subprocess.STDOUT, env=dict(os.environ)
        )
    process = Process(popen, out)
    waiting = process.wait_for("waiting")
    assert "the disk is full" in waiting["cause"]
    alerted = process.wait_for("alert_raised")
    assert (alerted["alert"], "the disk is full" in alerted["text"] + alerted["cause"]) == ("waiting", True), alerted
    enter = ["nsenter", "-t", str(popen.pid), "-U", "-m", "--preserve-credentials"]
    looks = [sys.executable, "-m", "penstock", "doctor", str(case.file), "--json"]
    seen = subprocess.run([*enter, *looks], capture_output=True, text=True, timeout=120, check=False)
    assert json.loads(seen.stdout)["findings"][0]["code"] == "disk_full", seen
    inside = Path(f"/proc/{popen.pid}/root{lake}")
    (inside / "ballast").unlink()
    process.wait_for("recovered")
    wait_until(lambda: sum(each["read"] for each in process.events("batch_committed")) == 50_000, "all are read")
    kept = tmp_path / "kept"
    subprocess.run(["cp", "-r", str(inside), str(kept)], check=True)
    process.signal(signal.SIGTERM)
    assert process.end() == 0, process.text
    assert len(process.events("waiting")) == 1
    kept.rename(tmp_path / "lake2")
    case.spec["sinks"]["lake"]["delta"]["table"] = "./lake2/payments"
    counted = case.counted()
    assert counted.exact, (counted.lost[:5], counted.doubled[:5], counted.misjudged[:5])
