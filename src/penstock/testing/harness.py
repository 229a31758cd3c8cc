"""Run the real command line in tests: a pipeline file of its own, a process of its own, events as values."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

DEADLINE_SECONDS = float(os.environ.get("DEADLINE_SECONDS", "120"))
"""How long a test waits for anything; a machine that does much else may need longer."""


def wait_until(condition: Callable[[], Any], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
    """The first true value of `condition`; fails with `what` when the deadline has passed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds:.0f} s in vain until {what}")


@dataclass
class Process:
    """A running `penstock`, its lines going to a file."""

    popen: subprocess.Popen[bytes]
    out: Path

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        """The events it has told so far."""
        lines = self.out.read_text(errors="replace").splitlines()
        told = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return [event for event in told if kind is None or event["event"] == kind]

    def wait_for(self, kind: str, number: int = 1) -> dict[str, Any]:
        """The `number`-th event of this kind."""

        def look() -> bool:
            return len(self.events(kind)) >= number or self.popen.poll() is not None

        wait_until(look, f"{kind} came {number} times")
        told = self.events(kind)
        assert len(told) >= number, f"the process ended with {self.popen.returncode}:\n{self.text}"
        return told[number - 1]

    def signal(self, number: int) -> None:
        self.popen.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self.popen.wait(DEADLINE_SECONDS)

    def end(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Its exit code, once it has ended."""
        return self.popen.wait(seconds)

    @property
    def text(self) -> str:
        return self.out.read_text(errors="replace")


@dataclass
class Case:
    """A folder with a pipeline file, and the ways to run it."""

    folder: Path
    spec: dict[str, Any]
    runs: int = field(default=0)

    def __post_init__(self) -> None:
        self.write()

    @property
    def file(self) -> Path:
        return self.folder / f"{self.spec['pipeline']}.yaml"

    @property
    def state(self) -> Path:
        return self.folder / "state" / str(self.spec["pipeline"])

    @property
    def dead_letters(self) -> Path:
        return self.state / "dead_letters"

    def table(self, sink: str = "lake") -> Path:
        return self.folder / str(self.spec["sinks"][sink]["delta"]["table"])

    def write(self) -> None:
        """Write the pipeline file."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.file.open("w") as target:
            YAML().dump(self.spec, target)

    def start(self, *args: str, env: Mapping[str, str] | None = None, under: Sequence[str] = ()) -> Process:
        """`penstock run FILE --json ...` in the background; `under` is put before it, as `slow_disk.under` gives it."""
        self.runs += 1
        out = self.folder / f"run-{self.runs}.out"
        command = [*under, sys.executable, "-m", "penstock", "run", str(self.file), "--json", *args]
        with out.open("wb") as target:
            popen = subprocess.Popen(
                command,
                stdout=target,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(env or {})},
            )
        return Process(popen, out)

    def run(self, *args: str, env: Mapping[str, str] | None = None) -> Process:
        """`penstock run FILE --once --json ...` to its end."""
        process = self.start("--once", *args, env=env)
        try:
            process.end()
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process

    def status(self) -> dict[str, Any]:
        command = [sys.executable, "-m", "penstock", "status", str(self.file), "--json"]
        return dict(json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout))
