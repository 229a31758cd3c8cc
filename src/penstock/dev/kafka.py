"""The embedded Kafka: a real broker for one folder, so that a first run needs none.

It lives in `<folder>/.penstock/dev`: its data (kept between runs), its log, and two lock files. `running.lock` says
whether one runs (keeper.py); `up.lock` lets one process at a time start or stop it.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.dev import broker
from penstock.dev.keeper import alive, children, end, holder, launch, wait
from penstock.dev.ports import free_port, is_free
from penstock.dev.topics import admin, ensure_topic
from penstock.engine.cache import locked, write_atomically
from penstock.errors import SetupFailed

__all__ = ["DevKafka", "down", "ensure_topic", "running", "up"]

_START_SECONDS = 90
_TRIES = 3


@dataclass(frozen=True)
class DevKafka:
    """A running broker: where it keeps its data, where it answers."""

    folder: Path
    port: int
    controller: int
    child: bool
    """Whether it ends with the process that started it."""
    door: int | None = None
    """The port for a proxy before it; clients that come this way are told the proxy's port."""

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def mine(self) -> bool:
        """Whether this very process started it, as its child."""
        return home_of(self.folder) in children

    @property
    def log(self) -> Path:
        return home_of(self.folder) / "broker.log"

    @property
    def pid(self) -> int | None:
        """The process to signal (the head of the broker's process group), or None when none runs."""
        return holder(home_of(self.folder))[0]

    def stop(self) -> None:
        """End it: SIGTERM, and SIGKILL when that does not help. No process is left; the data stay."""
        down(self.folder)

    def kill(self) -> None:
        """End it as a crash would."""
        end(home_of(self.folder), signal.SIGKILL)


def home_of(folder: Path | str) -> Path:
    """The embedded broker's own folder, for the pipelines of `folder`."""
    return Path(folder).absolute() / ".penstock" / "dev"


def running(folder: Path | str) -> DevKafka | None:
    """The broker of this folder, if one runs and answers."""
    pid, ending = holder(home_of(folder))
    found = _recorded(Path(folder).absolute()) if pid and not ending else None
    return found if found and not is_free(found.port) else None


def up(
    folder: Path | str, *, child: bool = False, extra: Mapping[str, str] | None = None, proxy: int | None = None
) -> DevKafka:
    """The broker of this folder: the one that runs, else a new one, ready to be used.

    With `child` it ends with this process, even one that is killed with -9; without, it stays until `down`.
    The ports of the last start are used again if they are free. `extra` are settings for a broker started now; with
    `proxy`, the port of a proxy, it opens a `door` for it.
    """
    where = Path(folder).absolute()
    home = home_of(where)
    home.mkdir(parents=True, exist_ok=True)
    (home / ".gitignore").write_text("*\n", encoding="utf-8")
    with locked(home / "up.lock"):
        if found := running(where):
            return found
        end(home, signal.SIGTERM)  # one that lives and does not answer was left half-started by a crash
        for _ in range(_TRIES - 1):
            try:
                return _start(where, child, extra or {}, proxy)
            except _PortTaken:
                continue  # someone took a port between our look and the broker's; the next try picks others
        return _start(where, child, extra or {}, proxy)


def down(folder: Path | str) -> bool:
    """End the broker of this folder and keep its data. False when none ran."""
    home = home_of(folder)
    if not home.is_dir():
        return False
    with locked(home / "up.lock"):
        return end(home, signal.SIGTERM)


class _PortTaken(SetupFailed):
    """Another program listens on a port that was free a moment ago."""


def _start(folder: Path, child: bool, extra: Mapping[str, str], proxy: int | None) -> DevKafka:
    home, port, controller = home_of(folder), *_ports(folder)
    door = free_port() if proxy else None
    doors = broker.with_door(port, controller, door, proxy) if door and proxy else {}
    broker.prepare(home, port, controller, {**doors, **extra})
    state = {"port": port, "controller": controller, "child": child, "door": door}
    write_atomically(home / "kafka.json", json.dumps(state))
    launch(home, child)
    found = DevKafka(folder, port, controller, child, door)
    if not wait(lambda: not alive(home) or _answers(found.bootstrap), _START_SECONDS) or not alive(home):
        end(home, signal.SIGKILL)
        told = broker.last_lines(found.log)
        raise (_PortTaken if "Address already in use" in told else SetupFailed)(
            f"The embedded Kafka did not start. The end of its log, {found.log}:", data=told.lstrip()
        )
    return found


def _recorded(folder: Path) -> DevKafka | None:
    try:
        state = json.loads((home_of(folder) / "kafka.json").read_text(encoding="utf-8"))
        return DevKafka(folder, int(state["port"]), int(state["controller"]), bool(state["child"]), state.get("door"))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never started, or cut short by a crash: there is nothing to go by


def _ports(folder: Path) -> tuple[int, int]:
    last = _recorded(folder)
    if last and is_free(last.port) and is_free(last.controller):
        return last.port, last.controller
    return free_port(), free_port()


def _answers(bootstrap: str) -> bool:
    """Whether clients get metadata. Asks only once the port is open: librdkafka backs off after a refusal."""
    if is_free(int(bootstrap.rpartition(":")[2])):
        return False
    from confluent_kafka import KafkaException

    try:
        return bool(admin(bootstrap).list_topics(timeout=5).brokers)
    except KafkaException:
        return False
