"""Exactly once into Kafka against at least once, in one run:  python -m bench.kafka_sink [--events N] [--json FILE]

The same frozen rows are sent three ways, in turns and in changing order: in a transaction that recognises itself (E),
without one (L), and by Spark's own Kafka sink (S), which is at least once too. What counts is the CPU of the process
tree without the broker for one large batch, and the time of a batch of 1,000 rows.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.cpu import CpuMeter
from bench.run import say
from penstock.dev.kafka import ensure_topic, up
from penstock.dev.records import read
from penstock.rows import LINEAGE
from penstock.sinks.contract import Frozen, WriteKey
from penstock.sinks.kafka import Topic
from penstock.sinks.kafka.committer import KafkaCommitter

PARTITIONS = 4
SMALL_ROWS = 1_000
TITLES = {"E": "exactly once", "L": "at least once", "S": "Spark's sink (at least once)"}
MORE_CPU, MORE_MILLISECONDS = 1.10, 100.0
Share = dict[str, Frozen]


class Lane:
    """One way of sending, with a topic and a pipeline of its own."""

    def __init__(self, variant: str, bootstrap: str, stage: Path, spark: Any) -> None:
        self.variant, self.bootstrap, self.spark, self.stage = variant, bootstrap, spark, stage
        self.topic = f"out-{variant.lower()}"
        ensure_topic(bootstrap, self.topic, PARTITIONS)
        delivery = "exactly_once" if variant == "E" else "at_least_once"
        sinks = {"out": Topic.model_validate({"topic": self.topic, "key": "id", "delivery": delivery})}
        self.committer = KafkaCommitter(bootstrap, f"bench-{uuid.uuid4().hex[:6]}", sinks)
        self.committer.ready()
        self.batch_id = self.sent = 0

    def freeze(self, first: int, rows: int) -> Share:
        """Events of 300 bytes, as the tasks of four partitions would have frozen them."""
        target = self.committer.prepare("out", pa.schema([]), self.stage)
        files = []
        for partition in range(PARTITIONS):
            writer = target.writer(f"{first}-{partition}")
            writer.write(events(first, rows // PARTITIONS, partition))
            files += writer.close()
        return {"out": Frozen(target.to_json(), tuple(files))}

    def send(self, share: Share) -> None:
        self.sent += share["out"].rows
        if self.variant == "S":
            return self._by_spark(share["out"])
        key = WriteKey(self.committer.pipeline, 1, self.committer.name, self.batch_id, f"digest-{self.batch_id}")
        self.committer.commit(share, key, {}, self.batch_id - 1 if self.batch_id else None)
        self.batch_id += 1
        return None

    def _by_spark(self, frozen: Frozen) -> None:
        files = [str(self.stage / file.path) for file in frozen.files]
        header = "named_struct('key', 'penstock.{0}', 'value', cast(cast({1} AS STRING) AS BINARY))"
        pairs = {"topic": "_topic", "partition": "_partition", "offset": "_offset"}
        headers = [*(header.format(*pair) for pair in pairs.items()), header.format("pipeline", "'bench'")]
        rows = self.spark.read.parquet(*files).selectExpr(
            "topic", "key", "value", f"array({', '.join(headers)}) AS headers"
        )
        options = {"kafka.bootstrap.servers": self.bootstrap, "includeHeaders": "true"}
        options |= {"kafka.compression.type": "zstd", "kafka.linger.ms": "5", "kafka.acks": "all"}
        rows.write.format("kafka").options(**options).save()


def events(first: int, rows: int, partition: int) -> pa.RecordBatch:
    numbers = np.arange(first, first + rows)
    names = pa.array([f"customer-{number * 7919 % 100_003:06d}" for number in numbers])
    pad = pa.array([f"{number * 2_654_435_761 % 2**64:016x}" * 11 for number in map(int, numbers)])
    return pa.RecordBatch.from_pydict(
        {
            "order_id": pa.array(numbers),
            "customer": names,
            "amount": pa.array((numbers % 100_000) / 100),
            "created_at": pa.array(numbers * 1_000_003, pa.timestamp("us", "UTC")),
            "note": pad,
            "_topic": pa.repeat("orders", rows),
            "_partition": pa.repeat(pa.scalar(partition, pa.int32()), rows),
            "_offset": pa.array(numbers),
            "_timestamp": pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * rows, LINEAGE.field("_timestamp").type),
            "__key": pa.array(numbers).cast(pa.string()).cast(pa.binary()),
        }
    )


def main() -> int:
    asked = _arguments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        broker = up(folder, child=True)
        stack.callback(broker.stop)
        spark = _session(folder, stack)
        lanes = {variant: Lane(variant, broker.bootstrap, folder / "stage", spark) for variant in TITLES}
        told = measured(lanes, asked, CpuMeter(without=broker.pid))
        wrong = [lane.variant for lane in lanes.values() if not _all_there(lane)]
    print(report(told, asked))
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=2) + "\n")
    for variant in wrong:
        print(f"WRONG COUNT  {TITLES[variant]}", file=sys.stderr)
    return 1 if wrong else 0


def measured(lanes: dict[str, Lane], asked: argparse.Namespace, meter: CpuMeter) -> dict[str, dict[str, list[float]]]:
    """CPU-seconds of each round, and milliseconds of each small batch, by variant. The first round is dropped."""
    cpu: dict[str, list[float]] = {variant: [] for variant in lanes}
    small: dict[str, list[float]] = {variant: [] for variant in lanes}
    for number in range(asked.rounds + 1):
        for variant in sorted(lanes, reverse=number % 2 == 0):
            share = lanes[variant].freeze(number * asked.events, asked.events)
            with meter.measure() as spent:
                lanes[variant].send(share)
            cpu[variant].append(spent.cpu_seconds)
            say(f"round {number}: {variant} {spent.cpu_seconds:.2f} CPU-s, {spent.wall_seconds:.2f} s")
    for number in range(asked.batches + 5):
        for variant in sorted(lanes, reverse=number % 2 == 0):
            share = lanes[variant].freeze(10**9 + number * SMALL_ROWS, SMALL_ROWS)
            small[variant].append(_milliseconds(lambda lane=lanes[variant], rows=share: lane.send(rows)))  # type: ignore[misc]
    return {
        "cpu_seconds": {variant: each[1:] for variant, each in cpu.items()},
        "small_batch_ms": {variant: each[5:] for variant, each in small.items()},
    }


def report(told: dict[str, dict[str, list[float]]], asked: argparse.Namespace) -> str:
    """The result as Markdown."""
    cpu = {variant: statistics.median(each) for variant, each in told["cpu_seconds"].items()}
    small = {variant: statistics.median(each) for variant, each in told["small_batch_ms"].items()}
    lines = [
        "",
        f"Into Kafka, {asked.events:,} events of 300 B in one batch, {asked.rounds} rounds; "
        f"{asked.batches} batches of {SMALL_ROWS:,} rows; medians",
        "",
        "| way | CPU-s | k rows/CPU-s | batch of 1,000, p50 ms | p95 ms |",
        "|---|---|---|---|---|",
        *(_line(variant, cpu[variant], told["small_batch_ms"][variant], asked.events) for variant in TITLES),
        "",
    ]
    for other in ("L", "S"):
        ratio, more = cpu["E"] / cpu[other], small["E"] - small[other]
        fine = ratio <= MORE_CPU and more <= MORE_MILLISECONDS
        lines.append(
            f"Exactly once against {TITLES[other]}: {ratio:.2f} x the CPU, {more:+.0f} ms a batch. "
            f"Goal ({MORE_CPU:.2f} x, {MORE_MILLISECONDS:+.0f} ms) {'met' if fine else 'NOT met'}."
        )
    lines.append(f"Load of the machine at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")
    return "\n".join(lines)


def _line(variant: str, cpu: float, small: list[float], events: int) -> str:
    p50, p95 = statistics.median(small), statistics.quantiles(small, n=20)[-1]
    return f"| {TITLES[variant]} | {cpu:.2f} | {events / cpu / 1000:.0f} | {p50:.0f} | {p95:.0f} |"


def _all_there(lane: Lane) -> bool:
    return sum(1 for _ in read(lane.bootstrap, lane.topic)) == lane.sent


def _milliseconds(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _session(folder: Path, stack: ExitStack) -> Any:
    from penstock.engine.session import session

    spark = session("bench", {"spark.local.dir": str(folder / "local")}, folder / "spark.log")
    stack.callback(spark.stop)
    return spark


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.kafka_sink", description="What exactly once costs in Kafka.")
    parser.add_argument("--events", type=int, default=300_000, help="events of the large batch (default: 300,000)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default: 3)")
    parser.add_argument("--batches", type=int, default=60, help="measured small batches (default: 60)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
