"""A Spark cluster of one master and some workers on this machine, for what local mode cannot show.

    with standalone(folder, workers=2) as spark:
        case.spec["spark"] = spark.settings()
        spark.executors()                     # their processes, to be killed

Daemons take some 220 MB each, executors 500 MB. All of them end with this process, however it ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from penstock.dev.launcher import die_with_this_process
from penstock.dev.ports import free_port
from penstock.engine import jars, java
from penstock.testing.harness import wait_until

HOST = "127.0.0.1"
READY_SECONDS = 120.0


@dataclass
class Standalone:
    """A running cluster."""

    folder: Path
    port: int
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def master(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def settings(self) -> dict[str, str]:
        """What a pipeline's `spark` section needs to run here."""
        path = os.pathsep.join(str(jar) for jar in jars.ensure("spark"))
        return {
            "spark.master": self.master,
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.driver.extraClassPath": path,
            "spark.executor.extraClassPath": path,
        }

    def executors(self) -> list[psutil.Process]:
        """The executors' JVMs, of whatever driver."""
        return [each for each in self._children() if "CoarseGrainedExecutorBackend" in _line(each)]

    def python_workers(self) -> list[psutil.Process]:
        """Python processes in which tasks run."""
        return [each for each in self._children() if "pyspark.daemon" in _line(each)]

    def _children(self) -> list[psutil.Process]:
        found = []
        for process in self.processes[1:]:
            try:
                found += psutil.Process(process.pid).children(recursive=True)
            except psutil.NoSuchProcess:
                continue
        return found


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """A cluster in this folder, with so many workers of one core each; nothing of it runs after the block."""
    folder.mkdir(parents=True, exist_ok=True)
    spark = Standalone(folder, free_port())
    try:
        _daemon(
            spark, "master.Master", HOST, "--host", HOST, "--port", str(spark.port), "--webui-port", str(free_port())
        )
        _wait_for(spark, "master.Master", "I have been elected leader")
        for number in range(workers):
            place, host = str(folder / f"work-{number}"), f"127.0.0.{number + 1}"  # no task is copied on its own host
            own = ["-h", host, "-p", str(free_port()), "--webui-port", str(free_port()), "-c", "1", "-m", "1g"]
            _daemon(spark, f"worker.Worker-{number}", host, *own, "-d", place, spark.master)
        for number in range(workers):
            _wait_for(spark, f"worker.Worker-{number}", "Successfully registered with master")
        yield spark
    finally:
        for each in [*spark._children()]:
            if psutil.pid_exists(each.pid):
                each.kill()
        for process in spark.processes:
            process.kill()
            process.wait()


def _daemon(spark: Standalone, name: str, host: str, *arguments: str) -> None:
    import pyspark

    home = Path(pyspark.__file__).parent
    main = name.partition("-")[0]
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": host,
        "SPARK_DAEMON_MEMORY": "256m",
        "JAVA_HOME": str(java.java_home()),
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{main}", *arguments]
    with (spark.folder / f"{name}.out").open("wb") as out:
        spark.processes.append(
            subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=die_with_this_process,  # noqa: PLW1509 one thread
            )
        )


def _wait_for(spark: Standalone, name: str, words: str) -> None:
    out = spark.folder / f"{name}.out"
    wait_until(lambda: words in out.read_text(errors="replace"), f"{name} says: {words}", READY_SECONDS)


def _line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""  # it ended while we looked
