"""Failpoints: places where a test may kill the process, to prove that nothing is lost or doubled there.

`PENSTOCK_FAILPOINT=before:freeze` kills the process with SIGKILL the first time it gets there,
`after:tables@3` the third time, `stop:before:tables` stops it with SIGSTOP instead. Unset, a failpoint costs a
comparison with None.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class _Armed:
    place: str
    countdown: int
    signal: int


def _arm(text: str) -> _Armed | None:
    if not text:
        return None
    stops = text.startswith("stop:")
    place, _, times = text.removeprefix("stop:").partition("@")
    return _Armed(place, int(times or 1), signal.SIGSTOP if stops else signal.SIGKILL)


_armed = _arm(os.environ.get("PENSTOCK_FAILPOINT", ""))


def reach(place: str) -> None:
    """Die here, if the environment says so."""
    if _armed is None or _armed.place != place:
        return
    _armed.countdown -= 1
    if _armed.countdown == 0:
        os.kill(os.getpid(), _armed.signal)


@contextmanager
def around(step: str) -> Iterator[None]:
    """A numbered step of the batch: one failpoint before it, one after."""
    reach(f"before:{step}")
    yield
    reach(f"after:{step}")
