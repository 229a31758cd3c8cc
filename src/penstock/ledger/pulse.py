"""The lease of a state that is on another file system, where no kernel frees a lock when its holder dies.

    <state>/lease/N.json      who holds it: created once, so of two that start at the same moment one does
    <state>/lease/N.pulse     written anew every few seconds while the holder lives

A holder on this machine is looked for among its processes. One on another machine is believed to be dead when its
pulse stood still for a while. Nothing rests on it: see lease.py.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from penstock import files
from penstock.errors import PenstockError
from penstock.files import Remote

BEAT_SECONDS = 3.0
DEAD_SECONDS = 15.0
"""A pulse that did not move for so long is that of a dead process."""


class Held(Exception):
    """Somebody holds the lease."""

    def __init__(self, who: dict[str, Any]) -> None:
        super().__init__()
        self.who = who


@contextmanager
def held(folder: Remote, me: dict[str, Any]) -> Iterator[None]:
    """Hold the lease in this folder while the block runs. Raises Held if somebody lives who has it."""
    number = max(files.numbered(folder, ".json"), default=None)
    if number is not None and _lives(folder, number, who := _who(folder, number)):
        raise Held(who)
    mine = 0 if number is None else number + 1
    stands = _take(folder, mine, me)
    if stands["run"] != me["run"]:
        raise Held(stands)
    stop = threading.Event()
    beating = threading.Thread(target=_beat, args=(folder, mine, stop), daemon=True, name="lease")
    beating.start()
    try:
        yield
    finally:
        stop.set()
        beating.join(DEAD_SECONDS)
        with suppress(PenstockError):  # what cannot be given back is taken over
            _leave(folder, mine)


def holder(folder: Remote) -> dict[str, Any] | None:
    """Who runs the pipeline now, as far as can be told at once: by its process here, by the clock elsewhere."""
    number = max(files.numbered(folder, ".json"), default=None)
    if number is None:
        return None
    who = _who(folder, number)
    if _is_of_this_machine(who):
        return who if _runs(who) else None
    fresh = datetime.now(UTC) - timedelta(seconds=DEAD_SECONDS)
    return who if _pulse(folder, number) > fresh.isoformat() else None


def machine() -> str:
    """This machine since it was started, and this space of process numbers in it."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    space = Path("/proc/self/ns/pid")
    return f"{boot.read_text().strip()} {space.readlink()}" if boot.exists() and space.is_symlink() else ""


def birth(pid: int) -> str:
    """When this process began, in ticks: a number that is used again belongs to another. Empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _lives(folder: Remote, number: int, who: dict[str, Any]) -> bool:
    if _is_of_this_machine(who):
        return _runs(who)
    before, deadline = _pulse(folder, number), time.monotonic() + DEAD_SECONDS
    while time.monotonic() < deadline:
        time.sleep(0.5)
        if _pulse(folder, number) != before:
            return True
    return False


def _is_of_this_machine(who: dict[str, Any]) -> bool:
    """Where there is no /proc, a holder is known by its pulse alone."""
    return bool(machine()) and who.get("machine") == machine()


def _runs(who: dict[str, Any]) -> bool:
    return bool(birth(int(who.get("pid", 0))) == who.get("birth", "?"))


def _take(folder: Remote, number: int, me: dict[str, Any]) -> dict[str, Any]:
    path = folder / f"{number}.json"
    _say(folder, number)
    who = {**me, "machine": machine(), "birth": birth(os.getpid())}
    stands = files.parse(path, files.create_once(path, files.to_json(who)))
    for old in files.numbered(folder, ".json"):
        if old < number:
            _leave(folder, old)
    return stands


def _leave(folder: Remote, number: int) -> None:
    files.remove([folder / f"{number}.json", folder / f"{number}.pulse"])


def _beat(folder: Remote, number: int, stop: threading.Event) -> None:
    while not stop.wait(BEAT_SECONDS):
        try:
            if (folder / f"{number}.json").exists():
                _say(folder, number)
        except PenstockError:
            continue  # the file system is away: the run itself says so, and the next beat may get through


def _say(folder: Remote, number: int) -> None:
    files.replace(folder / f"{number}.pulse", datetime.now(UTC).isoformat().encode())


def _pulse(folder: Remote, number: int) -> str:
    return (files.read(folder / f"{number}.pulse") or b"").decode(errors="replace")


def _who(folder: Remote, number: int) -> dict[str, Any]:
    try:
        return dict(json.loads(files.read(folder / f"{number}.json") or b"{}"))
    except ValueError:
        return {}
