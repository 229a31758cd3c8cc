"""The lease: one process runs a pipeline at a time, and a second one is told who.

A courtesy: it spares people two runs that would fence each other. Safety never rests on it, because every commit
recognises itself.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from penstock.errors import Refused, StateHeld
from penstock.files import Place, Remote
from penstock.ledger import pulse

LOOKS = 10
"""So often a lock that is held is tried again, a hundredth of a second apart."""


@contextmanager
def lease(path: Place, pipeline: str, run: str) -> Iterator[None]:
    """Hold the lease while the block runs. Raises StateHeld, before any side effect, if somebody has it."""
    if isinstance(path, Remote):
        with _elsewhere(path, pipeline, run):
            yield
        return
    with _opened(path, pipeline) as file:
        try:
            _take(file)
        except BlockingIOError as error:
            raise _held(_read(path), pipeline) from error
        file.seek(0)
        file.truncate()
        json.dump(_holder(run), file)
        file.flush()
        yield


def _take(file: TextIO) -> None:
    """Take the lock. Who only looks whether it is held has it for a moment (`holder`): that is waited out."""
    for _ in range(LOOKS):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        time.sleep(0.01)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def _elsewhere(path: Remote, pipeline: str, run: str) -> Iterator[None]:
    with ExitStack() as stack:
        try:
            stack.enter_context(pulse.held(path, _holder(run)))
        except pulse.Held as error:
            raise _held(error.who, pipeline) from error
        yield


def _opened(path: Path, pipeline: str) -> TextIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a+")
    except PermissionError as error:
        raise Refused(
            f"{pipeline}: this process (user {os.geteuid()}) may not write to the state folder {path.parent}.",
            data="This run did nothing.",
            remedy=f"Give it the permission, or run as a user that has it:  chown -R {os.geteuid()} {path.parent}",
        ) from error


def holder(path: Place) -> dict[str, Any] | None:
    """Who runs the pipeline now, or None. Takes nothing away from the holder."""
    if isinstance(path, Remote):
        return pulse.holder(path)
    try:
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return _read(path)
    except FileNotFoundError:
        return None
    return None


def _holder(run: str) -> dict[str, Any]:
    return {
        "run": run,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "user": os.environ.get("USER") or str(os.getuid()),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}


def _held(who: dict[str, Any], pipeline: str) -> StateHeld:
    return StateHeld(
        f"{pipeline}: this pipeline is running already: process {who.get('pid', '?')} of {who.get('user', '?')} "
        f"on {who.get('host', '?')}, since {who.get('since', '?')}.",
        data="This run did nothing.",
        remedy=f"Stop that one first:  kill {who.get('pid', 'PID')}",
    )
