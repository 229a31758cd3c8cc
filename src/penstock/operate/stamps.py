"""Values that were made from files, kept until a file changes: who looks again costs a few calls of `stat`."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")
Stamp = tuple[int, int, int] | None
SETTLED_SECONDS = 0.1
"""A file that changed so lately may change again within one tick of the file system's clock: then it is read anew."""
MOST = 64


def stamp(path: Path) -> Stamp:
    """What differs once a file, or the list of names in a folder, has changed; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def settled(stamps: tuple[Stamp, ...]) -> bool:
    now = time.time_ns()
    return all(each is None or now - each[0] > SETTLED_SECONDS * 1e9 for each in stamps)


class Kept:
    """What was made last, by name, with the stamps of the files that it was made from."""

    def __init__(self) -> None:
        self._values: dict[Hashable, tuple[tuple[Stamp, ...], Any]] = {}

    def of(self, name: Hashable, paths: tuple[Path, ...], make: Callable[[], T]) -> T:
        """The value of this name: the old one while none of the files has changed."""
        stamps = tuple(map(stamp, paths))
        known = self._values.get(name)
        if known is not None and known[0] == stamps:
            value: T = known[1]
            return value
        made = make()
        self._values.pop(name, None)
        if settled(stamps):
            self._values[name] = stamps, made
        while len(self._values) > MOST:
            self._values.pop(next(iter(self._values)))
        return made
