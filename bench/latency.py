"""How long a record takes to be visible:  python -m bench.latency [--rates 1000 10000] [--to delta kafka]

A producer, the pipeline and an observer, each in a process of its own, on one machine and one clock. From the moment an
event is handed to the producing client, until the version of the Delta table that holds it can be opened, or until a
reader of committed records has it. The first seconds are left out. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.dev import kafka
from penstock.dev.payments import SCHEMA
from penstock.testing.harness import Case, Process, wait_until

TITLES = {
    "delta": "visible version of a Delta table",
    "kafka": "read_committed reader of a Kafka sink, exactly once",
    "real_time": "reader of a Kafka sink, real time, at least once",
}
IN, OUT, DEAD = "latency-in", "latency-out", "latency-dead"
DECODE = {"json": {"schema": f"{SCHEMA.strip()}, sent BIGINT NOT NULL"}}


@dataclass(frozen=True)
class Found:
    """The milliseconds of every event of one run."""

    to: str
    rate: int
    milliseconds: list[float]
    batches: int
    phases: dict[str, float]
    """Seconds of each phase of a batch, median."""


def main() -> int:
    asked = _arguments()
    with tempfile.TemporaryDirectory(prefix="penstock-latency-") as name:
        broker = kafka.up(Path(name), child=True)
        try:
            found = [
                _measure(Path(name, f"{to}-{rate}"), broker.bootstrap, to, rate, asked)
                for rate in asked.rates
                for to in asked.to
            ]
        finally:
            broker.stop()
    print(report(found, asked))
    return 0


def _measure(folder: Path, bootstrap: str, to: str, rate: int, asked: argparse.Namespace) -> Found:
    folder.mkdir(parents=True)
    topics = {name: f"{name}-{to}-{rate}" for name in (IN, OUT, DEAD)}
    for name in topics.values():
        kafka.ensure_topic(bootstrap, name, asked.partitions)
    case = Case(folder, pipeline(to, bootstrap, topics, asked))
    process = case.start()
    try:
        _until_it_runs(process, bootstrap, topics[IN], to)
        with _observing(folder, bootstrap, to, topics[OUT], case) as notes:
            began = time.time_ns() // 1000 + int(asked.warm * 1e6)
            with _producing(bootstrap, topics[IN], rate, asked.warm + asked.seconds):
                pass
            time.sleep(asked.after)
        return _found(to, rate, [pair for pair in notes() if pair[0] >= began], process)
    finally:
        process.signal(signal.SIGTERM)
        try:
            process.end(120)
        except subprocess.TimeoutExpired:
            process.kill()


def pipeline(to: str, bootstrap: str, topics: dict[str, str], asked: argparse.Namespace) -> dict[str, Any]:
    """The file of the pipeline that is measured."""
    kafka_sink: dict[str, Any] = {"topic": topics[OUT], "key": "event_id"}
    spec: dict[str, Any] = {
        "pipeline": "latency",
        "source": {"kafka": {"brokers": [bootstrap], "topics": [topics[IN]], "start": "latest"}},
        "decode": DECODE,
        "sinks": {"lake": {"delta": {"table": "./lake/payments"}} if to == "delta" else {"kafka": kafka_sink}},
    }
    if to == "real_time":
        kafka_sink["delivery"] = "at_least_once"
        return {
            **spec,
            "dead_letters": {"kafka": {"topic": topics[DEAD]}},
            "trigger": {"real_time": f"{asked.real_time} seconds"},
        }
    return {**spec, "profile": "latency"}


def _until_it_runs(process: Process, bootstrap: str, topic: str, to: str) -> None:
    """It reads from the end of the topic, so something must come for as long as it starts."""
    process.wait_for("run_started")
    while to != "real_time" and not process.events("batch_committed"):
        with _producing(bootstrap, topic, 100, 1.0):
            process.wait_for("run_started")


@contextmanager
def _producing(bootstrap: str, topic: str, rate: int, seconds: float) -> Iterator[None]:
    producer = _end("produce", bootstrap, topic, str(rate), str(seconds))
    yield
    if producer.wait(seconds + 60) != 0:
        raise RuntimeError("the producer failed")


@contextmanager
def _observing(folder: Path, bootstrap: str, to: str, topic: str, case: Case) -> Iterator[Any]:
    """Observe while the block runs. Gives a function: every (sent, seen), in microseconds."""
    notes = folder / "notes"
    if to == "delta":
        observer = _end("versions", str(case.table()), str(notes))
        yield lambda: list(_rows(case.table(), notes))
        observer.terminate()
        observer.wait(60)
        return
    observer = _end("records", bootstrap, topic, str(notes))
    wait_until(notes.with_suffix(".ready").exists, "the reader is there")
    yield lambda: _pairs(notes)
    notes.with_suffix(".stop").touch()
    observer.wait(60)


def _end(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "bench.latency_ends", *words])


def _pairs(notes: Path) -> list[tuple[int, int]]:
    found = array("q")
    found.frombytes(notes.read_bytes())
    return list(zip(found[::2], found[1::2], strict=True))


def _rows(table: Path, notes: Path) -> Iterator[tuple[int, int]]:
    """(sent, seen) of every row of the versions that were noted."""
    import pyarrow.parquet as pq

    for line in notes.read_text().splitlines():
        version, seen = map(int, line.split())
        for action in (table / "_delta_log" / f"{version:020}.json").read_text().splitlines():
            add = json.loads(action).get("add")
            if add:
                for sent in pq.read_table(table / add["path"], columns=["sent"])["sent"].to_pylist():
                    yield sent, seen


def _found(to: str, rate: int, pairs: list[tuple[int, int]], process: Process) -> Found:
    phases = defaultdict(list)
    batches = process.events("batch_committed")[3:]
    for event in batches:
        for phase, seconds in {**event["phases"], "all": event["seconds"]}.items():
            phases[phase].append(seconds)
    medians = {phase: statistics.median(seconds) for phase, seconds in phases.items()}
    return Found(to, rate, sorted((seen - sent) / 1000 for sent, seen in pairs), len(batches), medians)


def report(found: list[Found], asked: argparse.Namespace) -> str:
    """The result as Markdown."""
    lines = [
        f"Latency from the producing client, {asked.partitions} partitions, {asked.seconds:g} s after {asked.warm:g} s "
        f"of warm-up, all on one machine of {os.cpu_count()} cores; load at the end {os.getloadavg()[0]:.1f}",
        "",
        "| events/s | to | events | p50 ms | p99 ms | max ms | batches | batch, median s |",
        "|---|---|---|---|---|---|---|---|",
        *map(_line, found),
    ]
    for each in found:
        told = ", ".join(f"{phase} {1000 * seconds:.0f}" for phase, seconds in each.phases.items() if seconds >= 0.0005)
        if told:
            lines += ["", f"{each.to} at {each.rate:,}/s, milliseconds of a batch by phase, median: {told}."]
    return "\n".join(lines)


def _line(found: Found) -> str:
    times = found.milliseconds
    if not times:
        return f"| {found.rate:,} | {TITLES[found.to]} | 0 | | | | {found.batches} | |"
    at = [times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99)]
    whole = found.phases.get("all")
    return (
        f"| {found.rate:,} | {TITLES[found.to]} | {len(times):,} | {at[0]:,.0f} | {at[1]:,.0f} | {times[-1]:,.0f} "
        f"| {found.batches} | {'' if whole is None else f'{whole:.3f}'} |"
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.latency", description="How long until a record is visible.")
    parser.add_argument("--rates", type=int, nargs="+", default=[1_000, 10_000], help="events a second")
    parser.add_argument("--to", nargs="+", default=list(TITLES), choices=list(TITLES), help="what is measured")
    parser.add_argument("--seconds", type=float, default=60, help="measured seconds (default: 60)")
    parser.add_argument("--warm", type=float, default=30, help="seconds before them (default: 30)")
    parser.add_argument("--after", type=float, default=5, help="seconds in which the last ones may still come")
    parser.add_argument("--partitions", type=int, default=2, help="of the topic (default: 2)")
    parser.add_argument("--real-time", type=int, default=300, help="seconds of a batch in real time (default: 300)")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
