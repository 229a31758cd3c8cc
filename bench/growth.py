"""How the cost of a row grows:  python -m bench.growth [--full] [AXIS ...]

With the number of rows, of partitions, of sinks, and with the size of events: one of them at a time, the others as in
the main job. One process; all cells in turns, the first turns are dropped until the JVM is warm, and each cell is its
best drain in CPU-seconds of the process tree. What a drain of one record in each partition costs, into the same sinks,
is told by itself and left out: it is the cost of a run, not of a row. Flat is good; for sinks, less than in proportion.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from bench.cpu import CpuMeter
from bench.lane import CORES, HEAP, penstock_session, wake
from bench.ours import settle
from bench.run import say
from penstock import Delta, Json, Kafka, Pace, Pipeline, Sink
from penstock.dev.kafka import ensure_topic, up
from penstock.dev.payments import SCHEMA, payments

MAIN_ROWS, MAIN_PARTITIONS, BATCH_ROWS = 1_000_000, 4, 250_000
MANY_ROWS = 4_000_000
"""Over many partitions: each run opens a consumer for every one of them, and their first steps are the slowest."""
IDLE_SECONDS = 2
SHORT_LIVED = {
    "spark.kafka.consumer.cache.timeout": f"{IDLE_SECONDS}s",  # five minutes, by default
    "spark.kafka.consumer.cache.evictorThreadRunInterval": "1s",
    "spark.kafka.consumer.fetchedData.cache.timeout": f"{IDLE_SECONDS}s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "1s",
}
PLAIN = "id BIGINT NOT NULL, text STRING"


@dataclass(frozen=True)
class Cell:
    """One drain: what of it differs from the main job."""

    axis: str
    label: str
    rows: int = MAIN_ROWS
    partitions: int = MAIN_PARTITIONS
    sinks: int = 1
    event_bytes: int = 0
    """0: payments; else plain events of this size."""

    @property
    def topic(self) -> str:
        return f"g-{self.rows}-{self.partitions}-{self.event_bytes}"

    @property
    def shape(self) -> Cell:
        """The same with one record in each partition."""
        return replace(self, axis="", label="", rows=self.partitions)


def cells(full: bool) -> list[Cell]:
    rows = [100_000, 1_000_000, 10_000_000 if full else 3_000_000]
    many = MANY_ROWS if full else MAIN_ROWS
    sizes = {100: 1_000_000, 1_000: 300_000, 10_000: 60_000, 100_000: 6_000}
    return [
        *(Cell("rows", f"{count:,}", rows=count) for count in rows),
        *(Cell("partitions", str(count), rows=many, partitions=count) for count in (1, 4, 12, 48)),
        *(Cell("sinks", str(count), sinks=count) for count in (1, 2, 5)),
        *(Cell("event size", f"{size:,} B", rows=count, event_bytes=size) for size, count in sizes.items()),
    ]


def fill(bootstrap: str, cell: Cell) -> None:
    ensure_topic(bootstrap, cell.topic, cell.partitions)
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "log_level": 0})
    for number, (key, value) in enumerate(_events(cell)):
        while True:
            try:
                producer.produce(cell.topic, value, key, partition=number % cell.partitions)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()


def _events(cell: Cell) -> Iterator[tuple[bytes, bytes | None]]:
    if not cell.event_bytes:
        yield from ((event.key, event.value) for event in payments(cell.rows, bad_share=0.001))
        return
    text = b"x" * max(1, cell.event_bytes - 40)
    yield from ((b"%d" % number, b'{"id": %d, "text": "%s"}' % (number, text)) for number in range(cell.rows))


class Growth:
    """A broker, a session, and the drains."""

    def __init__(self, folder: Path, stack: ExitStack, batch_rows: int = BATCH_ROWS) -> None:
        self.folder, self.batch_rows = folder, batch_rows
        self.broker = up(folder, child=True)
        stack.callback(self.broker.stop)
        self.spark = penstock_session(folder, SHORT_LIVED)
        stack.callback(self.spark.stop)
        self.meter = CpuMeter(without=self.broker.pid)
        self.drains = 0

    def cost(self, cell: Cell) -> float:
        """CPU-seconds of a drain into new tables."""
        from penstock.engine.run import RunOptions, run
        from penstock.observe.events import nowhere

        self.drains += 1
        folder = self.folder / f"d{self.drains}"
        folder.mkdir()
        pipeline = Pipeline(
            name="growth",
            folder=folder,
            source=Kafka(brokers=(self.broker.bootstrap,), topics=(cell.topic,)),
            decode=Json(schema=PLAIN if cell.event_bytes else SCHEMA),
            sinks={f"lake{number}": Sink(to=Delta(table=f"./lake{number}")) for number in range(cell.sinks)},
            pace=Pace(max_rows=self.batch_rows),
        )
        settle(pipeline)
        self._fresh()
        with self.meter.measure() as spent:
            run(pipeline, RunOptions(once=True), nowhere, spark=self.spark)
        return spent.cpu_seconds

    def _fresh(self) -> None:
        """No drain pays for what the one before left: rubbish, and consumers with all that they fetched."""
        time.sleep(IDLE_SECONDS + 2)
        self.spark._jvm.System.gc()  # type: ignore[union-attr]
        wake(self.spark)


def main() -> int:
    asked = _arguments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-growth-")))
        growth = Growth(folder, stack, asked.batch_rows)
        wanted = [cell for cell in cells(asked.full) if not asked.axes or cell.axis in asked.axes]
        told = measured(growth, wanted, asked.rounds, asked.warm)
    print(report(told, asked.batch_rows))
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=2) + "\n")
    return 0


def measured(growth: Growth, wanted: list[Cell], rounds: int, warm: int) -> list[dict[str, Any]]:
    every = list(dict.fromkeys(each for cell in wanted for each in (cell.shape, cell)))
    for cell in {each.topic: each for each in every}.values():
        say(f"producing {cell.rows:,} events into {cell.topic}")
        fill(growth.broker.bootstrap, cell)
    took: dict[Cell, list[float]] = {cell: [] for cell in every}
    for number in range(warm + rounds):
        for cell in every:
            took[cell].append(growth.cost(cell))
            turn = f"turn {number - warm + 1}" if number >= warm else f"warm-up {number + 1}"
            say(f"{turn}: {cell.axis or 'a run of'} {cell.label or cell.topic}: {took[cell][-1]:.2f} CPU-s")
    best = {cell: min(costs[warm:]) for cell, costs in took.items()}
    return [
        {
            "axis": cell.axis,
            "label": cell.label,
            "rows": cell.rows,
            "run_cpu_seconds": best[cell.shape],
            "cpu_seconds": best[cell] - best[cell.shape],
        }
        for cell in wanted
    ]


def report(told: list[dict[str, Any]], batch_rows: int) -> str:
    lines = [
        "",
        f"Cost of a row, {CORES} cores, {HEAP} heap, batches of {batch_rows:,}; load {os.getloadavg()[0]:.1f}",
        "",
        "| | | CPU-s of the rows | us of CPU a row | against the first | CPU-s of the run itself |",
        "|---|---|---|---|---|---|",
    ]
    first: dict[str, float] = {}
    for each in told:
        cost = each["cpu_seconds"] / each["rows"] * 1e6
        ratio = cost / first.setdefault(each["axis"], cost)
        lines.append(
            f"| {each['axis']} | {each['label']} | {each['cpu_seconds']:.2f} | {cost:.2f} "
            f"| {ratio:.2f} | {each['run_cpu_seconds']:.2f} |"
        )
    return "\n".join(lines)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description="How the cost of a row grows.")
    parser.add_argument("--full", action="store_true", help="ten million rows instead of three at the most, and more")
    parser.add_argument("--rounds", type=int, default=2, help="turns that count (default: 2)")
    parser.add_argument("--warm", type=int, default=5, help="turns before them, which do not (default: 5)")
    parser.add_argument("--batch-rows", type=int, default=BATCH_ROWS, help="most rows of a batch (default: 250,000)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    axes = list(dict.fromkeys(cell.axis for cell in cells(full=False)))
    parser.add_argument("axes", nargs="*", choices=[*axes, []], default=[], metavar="AXIS", help=f"of {axes}")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
