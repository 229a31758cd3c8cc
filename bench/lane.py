"""One variant in a process of its own, with its own JVM, draining the topic whenever it is told to.

Two variants in one JVM would pay for each other's compiler and garbage. T gets the session that a tutorial builds:
Spark's and Delta's own defaults, but for master and heap. The others on Spark get penstock's, with its settings for
small tables. Nothing of penstock is imported here but by those: other frameworks have environments of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from bench.cpu import CpuMeter, Spent
from bench.job import Job
from bench.roster import ROSTER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent.parent
CORES = 2
HEAP = "4g"


class Lane:
    """The handle of such a process."""

    def __init__(
        self, variant: str, bootstrap: str, batch_rows: int, folder: Path, peers: Mapping[str, Path] | None = None
    ) -> None:
        self.variant, self.folder = variant, folder / variant
        self.folder.mkdir()
        peer = ROSTER[variant].peer
        python = str(peers[peer]) if peers and peer else sys.executable
        command = [python, "-m", "bench.lane", variant, bootstrap, str(batch_rows), str(self.folder)]
        environment = {**os.environ, **ROSTER[variant].environment}
        if peer == "flink":
            from penstock.engine.java import java_home

            environment["JAVA_HOME"] = str(java_home())
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=HERE
        )

    def job(self, number: int) -> Path:
        return self.folder / str(number)

    def drain(self, number: int) -> Spent:
        """Drain the whole topic into new tables, and say what it took."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        told = self._process.stdout.readline()
        if not told:
            log = (self.folder / "lane.log").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"variant {self.variant} ended with {self._process.wait()}:\n{log}")
        return Spent(**json.loads(told))

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)


def main() -> None:
    name, bootstrap, batch_rows, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), Path(sys.argv[4])
    answers = _private_output(folder / "lane.log")
    variant = ROSTER[name]
    spark = SESSIONS[variant.session](folder) if variant.session else None
    drain, meter = variant.find(), CpuMeter()
    for line in sys.stdin:
        job = Job(bootstrap, batch_rows, folder / line.strip(), spark)
        job.folder.mkdir()
        if spark is not None:
            spark._jvm.System.gc()  # type: ignore[union-attr]  # no drain pays for the rubbish of the one before
        if spark is not None and variant.drain.startswith(("bench.ours:", "bench.seeing:")):
            wake(spark)
        with meter.measure() as spent:
            drain(job)
        os.write(answers, (json.dumps(asdict(spent)) + "\n").encode())
    if spark is not None:
        spark.stop()


def wake(spark: SparkSession) -> None:
    """Start the Python workers: Spark ends them after an idle minute, and start-up is not what is measured."""

    def load(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import penstock.formats.json.columns
        import penstock.sinks.delta.writer  # noqa: F401

        yield from batches

    spark.range(0, 8, 1, 2 * CORES).mapInArrow(load, "id long").collect()


def penstock_session(folder: Path, more: Mapping[str, str] | None = None) -> SparkSession:
    """What `penstock run` builds; with these settings besides."""
    from penstock.engine.session import session

    settings = {"spark.master": f"local[{CORES},4]", "spark.driver.memory": HEAP, **(more or {})}
    return session("bench", settings, folder / "logs" / "spark.log")


def tutorial_session(folder: Path) -> SparkSession:
    """What a tutorial builds: Delta and Kafka added, everything else as it comes."""
    from pyspark.sql import SparkSession

    from penstock.engine import jars, java

    os.environ["JAVA_HOME"] = str(java.java_home())
    builder = SparkSession.builder.master(f"local[{CORES}]").appName("tutorial")
    settings = {
        "spark.driver.memory": HEAP,
        "spark.jars": ",".join(str(jar) for jar in jars.ensure("spark")),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


SESSIONS = {"tutorial": tutorial_session, "penstock": penstock_session}


def _private_output(log: Path) -> int:
    """A handle for our answers; whatever else is printed, by Spark above all, goes to the log."""
    answers = os.dup(1)
    with log.open("wb") as target:
        os.dup2(target.fileno(), 1)
        os.dup2(target.fileno(), 2)
    return answers


if __name__ == "__main__":
    main()
