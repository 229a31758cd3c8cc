"""What it costs to be seen:  python -m bench.seeing [--events N] [--pairs N]

The main job, drained again and again by one warm process: with everything on (lag every second, alerts, `now.json`,
history, the Kafka group, a Prometheus endpoint that is asked every second), and with nobody looking. By default the lag
is asked for every ten seconds only. What counts is the CPU of the process tree, of neighbouring drains; their order
changes, so that a process that grows warmer favours neither. On a machine that does much else the difference of two
drains says little: then look at the share of the observer's thread, which does nearly all of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.job import Job
from bench.lane import Lane
from bench.run import Bench, say, spread
from bench.table import shown
from penstock.testing.meanwhile import meanwhile

PORT = "BENCH_PROMETHEUS"
THREAD = "observer.seconds"
WARM = 4
"""Drains that are dropped first."""


class Blind:
    """In place of the observer: looks at nothing, tells nobody."""

    def __init__(self, *_about: object) -> None:
        pass

    @contextmanager
    def looking(self) -> Iterator[None]:
        yield

    def heard(self, _event: object) -> None:
        """Nobody listens."""

    def attach(self, *_sight: object) -> None:
        """Nobody looks."""

    def ended(self, *_how: str) -> None:
        """Nobody writes it down."""


def watched_by_turns(job: Job) -> None:
    """Drain the topic; the folder's number says whether anybody looks on."""
    from bench import ours
    from penstock.engine.observer import Observer
    from penstock.observing import Observe
    from penstock.options import Duration

    class Timed(Observer):
        """The observer, and the CPU of its thread."""

        def _run(self) -> None:
            began = time.thread_time()
            super()._run()
            (job.folder / THREAD).write_text(str(time.thread_time() - began))

    if not watched(int(job.folder.name)):
        with patch("penstock.engine.run.Observer", Blind):
            ours.drain(job)
        return
    with patch("penstock.engine.run.Observer", Timed):
        ours.drain(job, observe=Observe(poll=Duration("1 second"), prometheus=f"127.0.0.1:{os.environ[PORT]}"))


def watched(number: int) -> bool:
    """Yes, no, no, yes, and so on."""
    return number % 4 in (0, 3)


@contextmanager
def scraping(port: int) -> Iterator[list[int]]:
    """Asks for metrics once a second, as Prometheus would; gives the sizes of the answers."""
    sizes: list[int] = []

    def scrape(_number: int) -> None:
        with (
            suppress(OSError, HTTPException),  # nobody looks on just now
            urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer,
        ):
            sizes.append(len(answer.read()))

    with meanwhile(scrape, lambda: 1.0):
        yield sizes


def measured(bench: Bench, pairs: int, port: int) -> dict[str, Any]:
    """CPU-seconds of neighbouring drains, watched and not."""
    lane = Lane("PV", bench.bootstrap, bench.batch_rows, bench.folder)
    spent: list[tuple[bool, float]] = []
    own: list[float] = []
    try:
        with scraping(port) as sizes:
            for number in range(-WARM, 2 * pairs):
                cpu = lane.drain(number).cpu_seconds
                say(f"{'seen' if watched(number) else 'unseen'}: {cpu:.2f} CPU-s{'' if number >= 0 else ', dropped'}")
                if number >= 0:
                    spent.append((watched(number), cpu))
                    own += [float((lane.job(number) / THREAD).read_text()) / cpu] if watched(number) else []
                shutil.rmtree(lane.job(number))
    finally:
        lane.close()
    couples = [dict(spent[place : place + 2]) for place in range(0, len(spent), 2)]
    return {
        "events": bench.truth.events,
        "pairs": pairs,
        "scrapes": len(sizes),
        "load": os.getloadavg()[0],
        "seen": spread(each[True] for each in couples),
        "unseen": spread(each[False] for each in couples),
        "more": spread(each[True] / each[False] - 1 for each in couples),
        "thread": spread(own),
    }


def main() -> int:
    from penstock.dev.ports import free_port

    asked = _arguments()
    port = free_port()
    os.environ[PORT] = str(port)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        told = measured(Bench(asked.events, asked.batch_rows, folder, stack), asked.pairs, port)
    more, own = ({name: 100 * value for name, value in told[key].items()} for key in ("more", "thread"))
    print(
        f"{told['events']:,} events, {told['pairs']} pairs of drains, asked for metrics {told['scrapes']} times, "
        f"load {told['load']:.1f} at the end.\nseen {shown(told['seen'])} CPU-s, unseen {shown(told['unseen'])} CPU-s: "
        f"{shown(more)} % more. The observer's own thread has {shown(own)} % of a drain that is seen."
    )
    if asked.json:
        asked.json.write_text(json.dumps(told, indent=2) + "\n")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.seeing", description="What it costs to be seen.")
    parser.add_argument("--events", type=int, default=1_000_000, help="events in the topic (default: a million)")
    parser.add_argument("--pairs", type=int, default=6, help="measured pairs of drains (default: 6)")
    parser.add_argument("--batch-rows", type=int, default=100_000, help="most rows of a batch (default: 100,000)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
