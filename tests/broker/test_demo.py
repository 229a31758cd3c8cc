"""The demo, as a new user meets it: it proves what it says, what it prints works, and it leaves no process behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

import penstock
from penstock.testing.harness import wait_until

HOME = str(Path(penstock.__file__).parent.parent)
SMALL = ["--events", "4000", "--seconds", "8"]


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "penstock", "demo", "--folder", folder.name, *SMALL, *options]
    return subprocess.Popen(
        command, cwd=folder.parent, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": HOME}


def processes_in(folder: Path) -> list[psutil.Process]:
    """The broker, the pipeline, its JVM and workers: all of them run in the demo's folder."""
    return [
        process
        for process in psutil.process_iter(["cwd", "status"])
        if process.info["cwd"]
        and Path(process.info["cwd"]).is_relative_to(folder)
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def test_the_demo_proves_itself_and_every_command_it_prints_works(tmp_path: Path) -> None:
    folder = tmp_path / "my demo"
    demo = start(folder)
    text, _ = demo.communicate(timeout=240)
    assert demo.returncode == 0, text
    assert "lost 0, doubled 0" in text
    assert re.search(r"kill -9 +in batch (\d+), .*\n(.*\n)*?.*resumes at batch \1\n", text), text
    assert not processes_in(folder)
    commands = re.findall(r"^    (\S.*(?:penstock|-c|echo).*)$", text.partition("Try next")[2], re.MULTILINE)
    assert len(commands) == 7
    for command in commands:
        done = subprocess.run(
            command,
            shell=True,
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if "--once" in command:
            assert "1 rejected (missing_field 1)" in done.stdout
    assert not processes_in(folder)


@pytest.mark.parametrize(
    "how",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_nothing_outlives_a_demo_that_is_stopped(tmp_path: Path, how: signal.Signals) -> None:
    folder = tmp_path / "demo"
    demo = start(folder)
    try:
        wait_until(lambda: [p for p in processes_in(folder) if is_spark(p)], "Spark runs")
        demo.send_signal(how)
        demo.communicate(timeout=60)
        wait_until(lambda: not processes_in(folder), "every process has ended", 30)
    finally:
        demo.kill()
    assert demo.returncode == (-how if how == signal.SIGKILL else 130)


def is_spark(process: psutil.Process) -> bool:
    try:
        return process.name() == "java" and any("org.apache.spark.deploy" in word for word in process.cmdline())
    except psutil.Error:
        return False  # it ended while we looked
