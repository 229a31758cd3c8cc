"""The main job in one run, the tutorial's script against penstock:  python -m bench.quick [--events N] [--json FILE]

Both drain the same topic, each in a warm process of its own, in turns and in changing order; the first round is
dropped. What counts is the CPU of the process tree; start-up is left out; every round's tables are counted by DuckDB.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import check
from bench.lane import CORES, HEAP, Lane
from bench.topic import BAD_SHARE, PARTITIONS, Truth, fill
from bench.variants import TITLES

GOAL = 2.7


@dataclass(frozen=True)
class Drain:
    """One variant in one round."""

    variant: str
    round: int
    cpu_seconds: float
    cpu_by_part: dict[str, float]
    wall_seconds: float
    accepted: dict[str, int]
    problems: list[str]


def main() -> int:
    asked = _arguments()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        bench = Bench(asked.events, asked.batch_rows, folder, stack)
        for number in range(asked.rounds + 1):
            bench.round(number)
        drains = bench.drains
        print(report(drains, bench.truth))
    wrong = [f"{drain.variant}, round {drain.round}: {each}" for drain in drains for each in drain.problems]
    for each in wrong:
        print(f"WRONG COUNT  {each}", file=sys.stderr)
    if asked.json:
        asked.json.write_text(json.dumps(figures(drains, bench.truth), indent=2) + "\n")
    return 1 if wrong else 0


class Bench:
    """A broker with the topic, a process for each variant, and the drains done so far."""

    def __init__(self, events: int, batch_rows: int, folder: Path, stack: ExitStack) -> None:
        from penstock.dev import kafka

        self.drains: list[Drain] = []
        broker = kafka.up(folder, child=True)
        stack.callback(broker.stop)
        _say(f"producing {events:,} events into {PARTITIONS} partitions")
        self.truth = fill(broker.bootstrap, events)
        self.lanes = {variant: Lane(variant, broker.bootstrap, batch_rows, folder) for variant in TITLES}
        for lane in self.lanes.values():
            stack.callback(lane.close)

    def round(self, number: int) -> None:
        """Each variant once; the order changes from round to round."""
        for variant in sorted(TITLES, reverse=number % 2 == 0):
            drain = self._drain(variant, number)
            self.drains.append(drain)
            note = "warm-up, dropped" if number == 0 else f"round {number}"
            parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in sorted(drain.cpu_by_part.items()))
            _say(f"{note}: {variant} {drain.cpu_seconds:.1f} CPU-s ({parts}), {drain.wall_seconds:.1f} s")

    def _drain(self, variant: str, number: int) -> Drain:
        lane = self.lanes[variant]
        spent = lane.drain(number)
        accepted, problems = self._check(variant, lane.job(number))
        shutil.rmtree(lane.job(number))
        return Drain(variant, number, spent.cpu_seconds, spent.cpu_by_part, spent.wall_seconds, accepted, problems)

    def _check(self, variant: str, folder: Path) -> tuple[dict[str, int], list[str]]:
        names = "_partition, _offset" if variant != "P" else 'partition, "offset"'
        table, dead_letters = folder / "payments", folder / "dead_letters"
        found = check.look(table, dead_letters, names, self.truth)
        problems = check.problems(found, self.truth)
        expected = Counter(self.truth.bad.values())
        if variant == "P" and (codes := check.codes(dead_letters)) != expected:
            problems.append(f"rejected {dict(codes)}, but planted were {dict(expected)}")
        return found.accepted, problems


def report(drains: list[Drain], truth: Truth) -> str:
    """The result as Markdown."""
    told = figures(drains, truth)
    lines = [
        f"Kafka to Delta, {truth.events:,} payments in {PARTITIONS} partitions, {len(truth.bad):,} of them broken; "
        f"{CORES} cores, {HEAP} heap, {told['rounds']} rounds after one of warm-up, median (least to most)",
        "",
        "| variant | CPU-s | k rows/CPU-s | wall s | penstock against it, per CPU-second |",
        "|---|---|---|---|---|",
        *(_line(variant, told) for variant in TITLES),
        "",
        f"Load of the machine at the end: {told['load']:.1f} on {os.cpu_count()} cores. "
        f"Goal: {GOAL} x the tutorial's script; "
        + ", ".join(
            f"against {variant} {'met' if told['ratio'][variant]['median'] >= GOAL else 'NOT met'}" for variant in "TS"
        )
        + ".",
        "",
        "Broken events that ended in the table as if they were good:",
        *(f"- {variant}: {_counts(told['variants'][variant]['accepted'])}" for variant in TITLES),
    ]
    return "\n".join(["", *lines])


def figures(drains: list[Drain], truth: Truth) -> dict[str, Any]:
    """The result as values, for `--json`."""
    measured = [drain for drain in drains if drain.round > 0]
    by_variant = {variant: [drain for drain in measured if drain.variant == variant] for variant in TITLES}
    ratios = {
        variant: [t.cpu_seconds / p.cpu_seconds for t, p in zip(done, by_variant["P"], strict=True)]
        for variant, done in by_variant.items()
    }
    return {
        "events": truth.events,
        "broken": len(truth.bad),
        "bad_share": BAD_SHARE,
        "rounds": len(ratios["P"]),
        "load": os.getloadavg()[0],
        "ratio": {variant: _spread(each) for variant, each in ratios.items()},
        "variants": {
            variant: {
                "cpu_seconds": _spread([drain.cpu_seconds for drain in done]),
                "wall_seconds": _spread([drain.wall_seconds for drain in done]),
                "rows_per_cpu_second": truth.events / statistics.median(drain.cpu_seconds for drain in done),
                "accepted": done[0].accepted,
            }
            for variant, done in by_variant.items()
        },
        "drains": [asdict(drain) for drain in drains],
    }


def _line(variant: str, told: dict[str, Any]) -> str:
    own = told["variants"][variant]
    ratio = "" if variant == "P" else f"**{_shown(told['ratio'][variant])}**"
    rate = own["rows_per_cpu_second"] / 1000
    return (
        f"| {TITLES[variant]} | {_shown(own['cpu_seconds'])} | {rate:.0f} | {_shown(own['wall_seconds'])} | {ratio} |"
    )


def _spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def _shown(spread: dict[str, float]) -> str:
    return f"{spread['median']:.1f} ({spread['least']:.1f} to {spread['most']:.1f})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{code} {count:,}" for code, count in sorted(counts.items())) or "none"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.quick", description="The main job: the tutorial and penstock."
    )
    parser.add_argument("--events", type=int, default=1_000_000, help="events in the topic (default: a million)")
    parser.add_argument("--rounds", type=int, default=3, help="measured rounds (default: 3)")
    parser.add_argument("--batch-rows", type=int, default=250_000, help="most rows of a batch (default: 250,000)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
