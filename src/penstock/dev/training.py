"""Makes the class archive: a short run over the embedded broker, whose JVM writes down the classes that it loaded."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from penstock.dev import kafka
from penstock.dev.payments import SCHEMA, payments
from penstock.engine import archive
from penstock.engine.cache import locked

EVENTS = 2_000
PATIENCE_SECONDS = 300.0
MOST_ARCHIVES = 4


def ensure(say: Callable[[str], None]) -> bool:
    """Make the archive, unless it is there. It only saves time: where it cannot be made, runs start without it."""
    target = archive.place()
    if target.is_file():
        return False
    with locked(target.parent / ".lock"):
        if target.is_file():
            return False
        say("making the class archive: runs will start in less time (once, about half a minute)")
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        environment = {**os.environ, archive.TRAINING: str(fresh)}
        command = [sys.executable, "-m", "penstock.dev.training"]
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            say(f"no class archive: its run was not done within {PATIENCE_SECONDS:.0f} s. Runs will start without it.")
            return True
        if done.returncode or not fresh.is_file():
            last = (done.stderr.strip().splitlines() or ["it left no archive"])[-1]
            say(f"no class archive: {last}. Runs will start without it.")
            fresh.unlink(missing_ok=True)
            return True
        fresh.replace(target)
        _sweep(target.parent)
    return True


def _sweep(folder: Path) -> None:
    """An archive is large, and each environment has its own: the oldest go."""
    newest_first = sorted(folder.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in newest_first[MOST_ARCHIVES:]:
        path.unlink(missing_ok=True)


def main() -> None:
    """The run that the archive is made of."""
    from pyspark import SparkContext

    with tempfile.TemporaryDirectory(prefix="penstock-training-") as folder:
        broker = kafka.up(Path(folder), child=True)
        try:
            _run(Path(folder), broker.bootstrap)
        finally:
            broker.stop()
        gateway: Any = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(PATIENCE_SECONDS)  # the archive is written while the JVM ends


def _run(folder: Path, bootstrap: str) -> None:
    from penstock import Delta, Json, Kafka, Pipeline, Sink
    from penstock.engine.run import RunOptions, run
    from penstock.observe.events import nowhere

    kafka.ensure_topic(bootstrap, "payments")
    producer = Producer({"bootstrap.servers": bootstrap})
    for event in payments(EVENTS):
        producer.produce("payments", event.value, event.key)
    producer.flush()
    pipeline = Pipeline(
        name="training",
        folder=folder,
        source=Kafka(brokers=(bootstrap,), topics=("payments",)),
        decode=Json(schema=SCHEMA),
        sinks={"lake": Sink(to=Delta(table="./lake"))},
    )
    run(pipeline, RunOptions(once=True), nowhere)
    run(pipeline, RunOptions(once=True), nowhere)


if __name__ == "__main__":
    main()
