"""The folder that every penstock project of a user shares (jars, a Java home), and the lock that guards it."""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_home() -> Path:
    """`$PENSTOCK_CACHE`, else `$XDG_CACHE_HOME/penstock`, else `~/.cache/penstock`. It need not exist yet."""
    if own := os.environ.get("PENSTOCK_CACHE"):
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache").absolute() / "penstock"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`, waiting for whoever holds it.

    The kernel lets go of it when its holder dies, however it dies: a crash leaves nothing to clean up.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_atomically(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace the file at `path` with `text`: a reader sees the old one or the new one, never half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.chmod(mode)
    fresh.replace(path)
