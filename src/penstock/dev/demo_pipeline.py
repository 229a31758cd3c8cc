"""The demo's pipeline: a real `penstock run FILE --json` in a process of its own, its events as they come."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import penstock
from penstock.errors import PenstockError

Told = dict[str, Any]
TICK_SECONDS = 0.1
STOP_SECONDS = 60.0
_SHOWN_LINES = 15


class PipelineProcess:
    """A running `penstock run`. It dies with this process, and `kill` takes its JVM and workers with it."""

    def __init__(self, file: Path) -> None:
        tether = Path(__file__).with_name("demo_tether.py")
        run = [sys.executable, "-m", "penstock", "run", file.name, "--json"]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(tether), *run],
            cwd=file.parent,
            env=_environment(),
            stdin=subprocess.PIPE,  # never written to: its end tells the tether that this process is gone
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self._events: queue.Queue[Told | None] = queue.Queue()
        self._words: list[str] = []
        """What it said that is no event: errors."""
        self._reader = threading.Thread(target=self._read, name="pipeline events", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def events(self) -> Iterator[Told | None]:
        """Its events, and None now and then so that the caller can look around. Raises when it ends by itself."""
        while True:
            try:
                event = self._events.get(timeout=TICK_SECONDS)
            except queue.Empty:
                yield None
                continue
            if event is None:
                raise self._ended()
            yield event

    def kill(self) -> list[Told]:
        """SIGKILL to all of it: driver, JVM, workers. Gives the events that nobody had read yet."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return self._rest()

    def stop(self) -> list[Told]:
        """SIGTERM: it finishes the batch in hand and ends with code 0, else this raises. Gives its last events."""
        self._process.terminate()
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise PenstockError(f"The pipeline did not end within {STOP_SECONDS:.0f} s of SIGTERM.") from None
        rest = self._rest()
        if code:
            raise self._ended()
        return rest

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                self._words.append(line.decode(errors="replace").rstrip())
            else:
                self._events.put(event)
        self._events.put(None)

    def _rest(self) -> list[Told]:
        """What is left in the pipe of a process that has ended."""
        self._reader.join(STOP_SECONDS)
        rest = []
        with suppress(queue.Empty):
            while True:
                rest.append(self._events.get_nowait())
        return [event for event in rest if event is not None]

    def _ended(self) -> PenstockError:
        self._reader.join(STOP_SECONDS)
        code = self._process.wait(STOP_SECONDS)
        words = "\n    ".join(self._words[-_SHOWN_LINES:]) or "(nothing)"
        return PenstockError(f"The pipeline (process {self.pid}) ended with code {code}. It said:", data=f"  {words}")


def _environment() -> dict[str, str]:
    """This environment, in which `python -m penstock` finds the penstock that runs now, whatever the folder."""
    home = str(Path(penstock.__file__).resolve().parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))}
