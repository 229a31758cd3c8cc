"""Avro and Protobuf from Kafka to Delta, whole pipelines:  python -m bench.registry [--events N] [--rounds N]

penstock against the consumer that people write: confluent-kafka, the library's own deserializer, deltalake. Both drain
the same topic by the same registry, each in a warm process of its own, in turns and in changing order; the first
rounds are dropped. What counts is the CPU of the process tree, without broker and registry. Every round's rows are
counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from bench import avro, protobuf
from bench.registry_topic import Filled, fill
from bench.roster import ROSTER
from bench.run import Bench, figures, say, wrong
from bench.table import markdown
from penstock.dev.oracle import files

FORMATS = {"avro": ("AL", "AP", "AN"), "protobuf": ("GL", "GP", "GN")}
"""Format -> the consumer, penstock, and Spark that reads the topic and does nothing: no pipeline on it takes less."""
DECODERS = {"avro": avro.told, "protobuf": protobuf.told}
DECODED = 50_000
"""Events that are decoded where the decoders run alone."""


@dataclass
class Services:
    """The broker and the registry that all variants share."""

    bootstrap: str
    registry: str
    folder: Path


class RegistryBench(Bench):
    """The rounds of one format."""

    def __init__(self, format_: str, events: int, batch_rows: int, services: Services) -> None:
        self.batch_rows, self.folder, self.peers = batch_rows, services.folder, None
        self.drains, self.bootstrap = [], services.bootstrap
        say(f"producing {events:,} {format_} events")
        self.filled: Filled = fill(services.bootstrap, services.registry, format_, events)
        self.truth = self.filled.truth

    def _check(self, variant: str, folder: Path) -> tuple[dict[str, int], list[str]]:
        if not ROSTER[variant].counted:
            return {}, []
        told = counted(folder / "payments", folder / "dead_letters")
        wanted = {
            "rows": self.truth.good,
            "records": self.truth.good,
            "customers": self.filled.customers,
            "rejected": len(self.truth.bad),
        }
        names = ROSTER[variant].title
        return {}, [f"{names}: {key} is {told[key]}, not {wanted[key]}" for key in wanted if told[key] != wanted[key]]


def counted(table: Path, dead_letters: Path) -> dict[str, int]:
    """What an independent reader finds in the two tables."""
    with duckdb.connect() as base:
        lake = "SELECT count(*), count(DISTINCT (_partition, _offset)), sum(customer_id) FROM read_parquet(?)"
        rows, records, customers = base.execute(lake, [files(table)]).fetchall()[0]
        letters = base.execute("SELECT count(*) FROM read_parquet(?)", [files(dead_letters)]).fetchall()[0][0]
    return {"rows": rows, "records": records, "customers": int(customers or 0), "rejected": letters}


def main() -> int:
    asked = _arguments()
    told: dict[str, Any] = {}
    problems: list[str] = []
    with ExitStack() as stack:
        services = _services(stack)
        for format_ in asked.formats or FORMATS:
            bench = RegistryBench(format_, asked.events, asked.batch_rows, services)
            bench.rounds(FORMATS[format_], asked.rounds)
            told[format_] = figures(bench.drains, bench.truth)
            problems += wrong(bench.drains)
            print(f"\n## {format_}\n\n{markdown(told[format_], (FORMATS[format_][0],))}", flush=True)
            print(f"\nThe decoders alone, without broker, Spark and table:\n\n{DECODERS[format_](DECODED)}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=2) + "\n")
    for each in problems:
        print(f"WRONG COUNT  {each}", file=sys.stderr)
    return 1 if problems else 0


def _services(stack: ExitStack) -> Services:
    from penstock.dev import kafka
    from penstock.testing.registry import apicurio

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
    broker = kafka.up(folder, child=True)
    stack.callback(broker.stop)
    registry = stack.enter_context(apicurio(folder / "registry"))
    os.environ["BENCH_REGISTRY"] = registry.url  # the processes of the variants ask for it
    return Services(broker.bootstrap, registry.url, folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.registry", description="Avro and Protobuf pipelines against hand-written consumers."
    )
    parser.add_argument("--events", type=int, default=1_000_000, help="events in each topic (default: a million)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default: 3)")
    parser.add_argument("--batch-rows", type=int, default=250_000, help="most rows of a batch (default: 250,000)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("formats", nargs="*", choices=[*FORMATS, []], default=[], help="default: both")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
