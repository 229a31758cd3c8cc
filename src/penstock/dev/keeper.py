"""Keeps one broker process for one folder: starts it through the launcher, finds it by its lock, ends it.

`running.lock` is held by the broker itself as long as it lives, so whether one runs is never a guess about process ids.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from penstock.dev import broker
from penstock.errors import SetupFailed

STOP_SECONDS = 20
children: dict[Path, subprocess.Popen[bytes]] = {}
"""The launchers this process started, by the broker's home: to be waited for, or they stay as zombies."""


def launch(home: Path, child: bool) -> None:
    """Start the launcher with the lock in its hands."""
    script = Path(__file__).with_name("launcher.py")
    with _hold(home) as lock, (home / "broker.log").open("ab") as log:
        lock.truncate(0)  # what it says is of the last broker
        arguments = [str(lock.fileno()), str(os.getpid() if child else 0), *broker.command()]
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(script), *arguments],
            cwd=home,
            env=broker.environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=(lock.fileno(),),
        )
    if child:
        children[home] = process
    else:
        process.wait(STOP_SECONDS)  # it forks and returns at once


def _hold(home: Path) -> IO[bytes]:
    """Take `running.lock`. Whoever looks whether a broker runs holds it for an instant: so try for a while."""
    file = os.fdopen(os.open(home / "running.lock", os.O_RDWR | os.O_CREAT, 0o644), "r+b")

    def taken() -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    if not wait(taken, 5):
        file.close()
        raise SetupFailed(f"{home / 'running.lock'} is held: a broker runs that `penstock dev down` could not end.")
    return file


def alive(home: Path) -> bool:
    """Whether a broker (or its launcher) lives: it holds the lock, and the kernel frees that at its death."""
    try:
        with (home / "running.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def holder(home: Path) -> tuple[int | None, bool]:
    """The process id in `running.lock`, and whether the broker is on its way out. Both mean nothing once it is free."""
    words = (home / "running.lock").read_text(encoding="utf-8").split() if alive(home) else []
    return (int(words[0]) if words else None), "ending" in words


def end(home: Path, first: signal.Signals) -> bool:
    """Ask the broker to end, then insist. True when one ran."""
    ran = alive(home)
    wait(lambda: holder(home)[0] is not None or not alive(home), 5)  # a launcher says its id 20 ms after its start
    for how in (first, signal.SIGKILL):
        if pid := holder(home)[0]:
            _signal_group(pid, how)
        if wait(lambda: not alive(home), STOP_SECONDS):
            break
    else:
        raise SetupFailed(f"The embedded Kafka of {home} (process {holder(home)[0]}) cannot be ended.")
    if launcher := children.pop(home, None):
        launcher.wait(STOP_SECONDS)
    return ran


def _signal_group(pid: int, how: signal.Signals) -> None:
    """Launcher and broker are a process group of their own. SIGTERM is for its head alone, which passes it on."""
    try:
        (os.killpg if how is signal.SIGKILL else os.kill)(pid, how)
    except ProcessLookupError:
        return  # it ended in the meantime


def wait(done: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True
