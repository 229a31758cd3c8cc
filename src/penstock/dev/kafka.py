"""The embedded Kafka: a real broker for one folder, so that a first run needs none.

It lives in `<folder>/.penstock/dev`: its data (kept between runs), its log, and two lock files. `running.lock` is held
by the broker itself as long as it lives, so whether one runs is never a guess about process ids; `up.lock` lets one
process at a time start or stop it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from penstock.dev import broker
from penstock.dev.topics import admin, ensure_topic
from penstock.engine.cache import locked, write_atomically
from penstock.errors import SetupFailed

__all__ = ["DevKafka", "down", "ensure_topic", "running", "up"]

_START_SECONDS = 90
_STOP_SECONDS = 20
_TRIES = 3
_children: dict[Path, subprocess.Popen[bytes]] = {}
"""The launchers this process started, by the broker's home: to be waited for, or they stay as zombies."""


@dataclass(frozen=True)
class DevKafka:
    """A running broker: where it keeps its data, where it answers."""

    folder: Path
    port: int
    controller: int
    child: bool
    """Whether it ends with the process that started it."""

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def mine(self) -> bool:
        """Whether this very process started it, as its child."""
        return home_of(self.folder) in _children

    @property
    def log(self) -> Path:
        return home_of(self.folder) / "broker.log"

    @property
    def pid(self) -> int | None:
        """The process to signal (the head of the broker's process group), or None when none runs."""
        return _holder(home_of(self.folder))[0]

    def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL when that does not help. No process is left; the data stay."""
        down(self.folder)

    def kill(self) -> None:
        """End it as a crash would."""
        _end(home_of(self.folder), signal.SIGKILL)


def home_of(folder: Path | str) -> Path:
    """The embedded broker's own folder, for the pipelines of `folder`."""
    return Path(folder).absolute() / ".penstock" / "dev"


def running(folder: Path | str) -> DevKafka | None:
    """The broker of this folder, if one runs and answers."""
    pid, ending = _holder(home_of(folder))
    found = _recorded(Path(folder).absolute()) if pid and not ending else None
    return found if found and not broker.is_free(found.port) else None


def up(folder: Path | str, *, child: bool = False, extra: Mapping[str, str] | None = None) -> DevKafka:
    """The broker of this folder: the one that runs, else a new one, ready to be used.

    With `child` it ends with this process, even one that is killed with -9; without, it stays until `down`.
    The ports of the last start are used again if they are free. `extra` are settings for a broker started now.
    """
    where = Path(folder).absolute()
    home = home_of(where)
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitignore").write_text("*\n", encoding="utf-8")
    with locked(home / "up.lock"):
        if found := running(where):
            return found
        _end(home, signal.SIGTERM)  # one that lives and does not answer was left half-started by a crash
        for _ in range(_TRIES - 1):
            try:
                return _start(where, child, extra or {})
            except _PortTaken:
                continue  # someone took a port between our look and the broker's; the next try picks others
        return _start(where, child, extra or {})


def down(folder: Path | str) -> bool:
    """End the broker of this folder and keep its data. False when none ran."""
    home = home_of(folder)
    if not home.is_dir():
        return False
    with locked(home / "up.lock"):
        return _end(home, signal.SIGTERM)


class _PortTaken(SetupFailed):
    """Another program listens on a port that was free a moment ago."""


def _start(folder: Path, child: bool, extra: Mapping[str, str]) -> DevKafka:
    home, port, controller = home_of(folder), *_ports(folder)
    broker.prepare(home, port, controller, extra)
    write_atomically(home / "kafka.json", json.dumps({"port": port, "controller": controller, "child": child}))
    _launch(home, child)
    found = DevKafka(folder, port, controller, child)
    if not _wait(lambda: not _alive(home) or _answers(found.bootstrap), _START_SECONDS) or not _alive(home):
        _end(home, signal.SIGKILL)
        told = broker.last_lines(found.log)
        raise (_PortTaken if "Address already in use" in told else SetupFailed)(
            f"The embedded Kafka did not start. The end of its log, {found.log}:", data=told.lstrip()
        )
    return found


def _launch(home: Path, child: bool) -> None:
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
        _children[home] = process
    else:
        process.wait(_STOP_SECONDS)  # it forks and returns at once


def _hold(home: Path) -> IO[bytes]:
    """Take `running.lock`. Whoever looks whether a broker runs holds it for an instant: so try for a while."""
    file = os.fdopen(os.open(home / "running.lock", os.O_RDWR | os.O_CREAT, 0o644), "r+b")

    def taken() -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    if not _wait(taken, 5):
        file.close()
        raise SetupFailed(f"{home / 'running.lock'} is held: a broker runs that `penstock dev down` could not end.")
    return file


def _alive(home: Path) -> bool:
    """Whether a broker (or its launcher) lives: it holds the lock, and the kernel frees that at its death."""
    try:
        with (home / "running.lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _holder(home: Path) -> tuple[int | None, bool]:
    """The process id in `running.lock`, and whether the broker is on its way out. Both mean nothing once it is free."""
    words = (home / "running.lock").read_text(encoding="utf-8").split() if _alive(home) else []
    return (int(words[0]) if words else None), "ending" in words


def _end(home: Path, first: signal.Signals) -> bool:
    """Ask the broker to end, then insist. True when one ran."""
    ran = _alive(home)
    _wait(lambda: _holder(home)[0] is not None or not _alive(home), 5)  # a launcher says its id 20 ms after its start
    for how in (first, signal.SIGKILL):
        if pid := _holder(home)[0]:
            _signal_group(pid, how)
        if _wait(lambda: not _alive(home), _STOP_SECONDS):
            break
    else:
        raise SetupFailed(f"The embedded Kafka of {home} (process {_holder(home)[0]}) cannot be ended.")
    if launcher := _children.pop(home, None):
        launcher.wait(_STOP_SECONDS)
    return ran


def _signal_group(pid: int, how: signal.Signals) -> None:
    """Launcher and broker are a process group of their own. SIGTERM is for its head alone, which passes it on."""
    try:
        (os.killpg if how is signal.SIGKILL else os.kill)(pid, how)
    except ProcessLookupError:
        return  # it ended in the meantime


def _recorded(folder: Path) -> DevKafka | None:
    try:
        state = json.loads((home_of(folder) / "kafka.json").read_text(encoding="utf-8"))
        return DevKafka(folder, int(state["port"]), int(state["controller"]), bool(state["child"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never started, or cut short by a crash: there is nothing to go by


def _ports(folder: Path) -> tuple[int, int]:
    last = _recorded(folder)
    if last and broker.is_free(last.port) and broker.is_free(last.controller):
        return last.port, last.controller
    return broker.free_port(), broker.free_port()


def _answers(bootstrap: str) -> bool:
    """Whether clients get metadata. Asks only once the port is open: librdkafka backs off after a refusal."""
    if broker.is_free(int(bootstrap.rpartition(":")[2])):
        return False
    from confluent_kafka import KafkaException

    try:
        return bool(admin(bootstrap).list_topics(timeout=5).brokers)
    except KafkaException:
        return False


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True
