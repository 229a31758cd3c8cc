"""Rounds of the main job: every variant in turn, in changing order; every drain counted by an independent reader."""

from __future__ import annotations

import os
import shutil
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import check
from bench.lane import Lane
from bench.roster import ROSTER
from bench.topic import BAD_SHARE, PARTITIONS, Truth, fill

BASES = ("T", "S", "O", "TC", "AL", "GL")
"""Whom the others are compared with."""
WARM = 4
"""Rounds that are dropped on a JVM: after one drain it is still busy compiling. Elsewhere it is one."""


@dataclass(frozen=True)
class Drain:
    """One variant in one round."""

    variant: str
    round: int
    cpu_seconds: float
    cpu_by_part: dict[str, float]
    wall_seconds: float
    peak_bytes: int
    accepted: dict[str, int]
    problems: list[str]


class Bench:
    """A broker with the topic, and the drains done so far."""

    def __init__(
        self, events: int, batch_rows: int, folder: Path, stack: ExitStack, peers: Mapping[str, Path] | None = None
    ) -> None:
        from penstock.dev import kafka

        self.batch_rows, self.folder, self.peers = batch_rows, folder, peers
        self.drains: list[Drain] = []
        broker = kafka.up(folder, child=True)
        stack.callback(broker.stop)
        self.bootstrap = broker.bootstrap
        say(f"producing {events:,} events into {PARTITIONS} partitions")
        self.truth = fill(broker.bootstrap, events)

    def rounds(self, variants: Sequence[str], count: int, warm: int = WARM) -> None:
        """Rounds that are dropped (`warm` on a JVM, one elsewhere), then `count` that are not; a process for each."""
        with ExitStack() as stack:
            lanes = {}
            for variant in variants:
                lanes[variant] = Lane(variant, self.bootstrap, self.batch_rows, self.folder, self.peers)
                stack.callback(lanes[variant].close)
            for number in range(1 - warm, count + 1):
                for variant in variants if number % 2 else variants[::-1]:
                    if number >= 0 or ROSTER[variant].on_a_jvm:
                        self.drains.append(self._drain(lanes[variant], number))

    def _drain(self, lane: Lane, number: int) -> Drain:
        spent = lane.drain(number)
        accepted, problems = self._check(lane.variant, lane.job(number))
        shutil.rmtree(lane.job(number))
        note = "warm-up, dropped" if number < 1 else f"round {number}"
        parts = ", ".join(f"{part} {seconds:.1f}" for part, seconds in sorted(spent.cpu_by_part.items()))
        say(f"{note}: {lane.variant} {spent.cpu_seconds:.1f} CPU-s ({parts}), {spent.wall_seconds:.1f} s")
        return Drain(
            lane.variant,
            number,
            spent.cpu_seconds,
            spent.cpu_by_part,
            spent.wall_seconds,
            spent.peak_bytes,
            accepted,
            problems,
        )

    def _check(self, variant: str, folder: Path) -> tuple[dict[str, int], list[str]]:
        if not ROSTER[variant].counted:
            return {}, []
        ours = ROSTER[variant].drain.startswith("bench.ours:")
        names = 'partition, "offset"' if ours else "_partition, _offset"
        table, dead_letters = folder / "payments", folder / "dead_letters"
        found = check.look(table, dead_letters, names, self.truth)
        problems = check.problems(found, self.truth)
        expected = Counter(self.truth.bad.values())
        if ours and (codes := check.codes(dead_letters)) != expected:
            problems.append(f"rejected {dict(codes)}, but planted were {dict(expected)}")
        return found.accepted, problems


def figures(drains: Sequence[Drain], truth: Truth) -> dict[str, Any]:
    """The result as values."""
    measured = [drain for drain in drains if drain.round > 0]
    by_variant: dict[str, list[Drain]] = {}
    for drain in measured:
        by_variant.setdefault(drain.variant, []).append(drain)
    return {
        "events": truth.events,
        "broken": len(truth.bad),
        "bad_share": BAD_SHARE,
        "rounds": max(drain.round for drain in measured),
        "load": os.getloadavg()[0],
        "variants": {variant: _variant(done, by_variant, truth) for variant, done in by_variant.items()},
        "drains": [asdict(drain) for drain in drains],
    }


def _variant(done: list[Drain], all_done: dict[str, list[Drain]], truth: Truth) -> dict[str, Any]:
    return {
        "title": ROSTER[done[0].variant].title,
        "cpu_seconds": spread(drain.cpu_seconds for drain in done),
        "wall_seconds": spread(drain.wall_seconds for drain in done),
        "peak_bytes": max(drain.peak_bytes for drain in done),
        "rows_per_cpu_second": truth.events / statistics.median(drain.cpu_seconds for drain in done),
        "accepted": done[0].accepted,
        "against": {
            base: spread(other.cpu_seconds / own.cpu_seconds for other, own in zip(all_done[base], done, strict=True))
            for base in BASES
            if base in all_done and len(all_done[base]) == len(done)
        },
    }


def wrong(drains: Iterable[Drain]) -> list[str]:
    """Everything that a count found wrong."""
    return [f"{drain.variant}, round {drain.round}: {each}" for drain in drains for each in drain.problems]


def spread(values: Iterable[float]) -> dict[str, float]:
    known = list(values)
    return {"median": statistics.median(known), "least": min(known), "most": max(known)}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
