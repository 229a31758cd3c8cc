"""CPU-seconds of this process and all below it: the driver, the JVM, the Python workers. The broker is left out.

Wall time on a shared machine is noise; CPU time much less so. Workers that are idle for a minute are ended by Spark,
and their CPU would vanish from a plain sum: so the newest figure of every process ever seen is kept.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import psutil

SAMPLE_SECONDS = 0.25
Who = tuple[int, float]
"""A process: its id, and when it started, because ids come again."""


@dataclass
class Spent:
    """What one stretch of work took; filled in at its end."""

    wall_seconds: float = 0.0
    cpu_by_part: dict[str, float] = field(default_factory=dict)
    """CPU-seconds of the driver, the JVM, the workers."""
    peak_bytes: int = 0
    """The most memory that all of them held at once, as far as it was looked at."""

    @property
    def cpu_seconds(self) -> float:
        return sum(self.cpu_by_part.values())


class CpuMeter:
    """Measures stretches of work, one after the other."""

    def __init__(self, without: int | None = None) -> None:
        self.without = without
        """The head of a process tree that is not to be counted."""
        self._newest: dict[Who, float] = {}
        self._part: dict[Who, str] = {}
        self._memory = 0

    @contextmanager
    def measure(self) -> Iterator[Spent]:
        spent, done = Spent(), threading.Event()
        sampler = threading.Thread(target=self._sample, args=(done, spent), daemon=True)
        before, began = self._total(), time.monotonic()
        sampler.start()
        try:
            yield spent
        finally:
            done.set()
            sampler.join()
            spent.wall_seconds = time.monotonic() - began
            spent.cpu_by_part = {part: seconds - before[part] for part, seconds in self._total().items()}

    def _sample(self, done: threading.Event, spent: Spent) -> None:
        while not done.wait(SAMPLE_SECONDS):
            self._total()
            spent.peak_bytes = max(spent.peak_bytes, self._memory)

    def _total(self) -> dict[str, float]:
        """CPU-seconds by part, of every process seen so far."""
        self._memory = 0
        for process in self._tree(psutil.Process()):
            with suppress(psutil.NoSuchProcess):  # it ended since; its newest figure stays
                who, times = (process.pid, process.create_time()), process.cpu_times()
                self._memory += process.memory_info().rss
                if who not in self._part:
                    self._part[who] = _part(process)
                self._newest[who] = times.user + times.system
        total: dict[str, float] = defaultdict(float)
        for who, seconds in self._newest.items():
            total[self._part[who]] += seconds
        return total

    def _tree(self, head: psutil.Process) -> Iterator[psutil.Process]:
        """All processes below `head` and itself, but for those we leave out."""
        below: dict[int, list[psutil.Process]] = {}
        for process in head.children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                below.setdefault(process.ppid(), []).append(process)
        waiting = [head]
        while waiting:
            process = waiting.pop()
            if process.pid != self.without:
                yield process
                waiting += below.get(process.pid, [])


def _part(process: psutil.Process) -> str:
    if process.pid == os.getpid():
        return "driver"
    return "jvm" if process.name() == "java" else "workers"
