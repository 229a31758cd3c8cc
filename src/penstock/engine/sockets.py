"""Where Spark's JVM and its Python processes meet: files in a folder that only we may enter, instead of ports.

What a job collects waits at a port that serves whoever comes first, once: any stray connection there (a client that
still looks for a broker which has gone from that very port, say) and the batch fails, as one did in CI. A file has no
such neighbours; and a job with Python workers takes some 50 ms less (tried with 100 small ones).
"""

from __future__ import annotations

import atexit
import shutil
import socket
import tempfile
from functools import cache

LONGEST = 100
"""Bytes of a socket's path: Linux takes 107, macOS 103."""
NAME = len("/.00000000-0000-0000-0000-000000000000.sock")


def settings() -> dict[str, str]:
    """Of a Spark whose workers run on this machine; none where a path would be too long."""
    folder = _folder() if hasattr(socket, "AF_UNIX") else None
    if folder is None:
        return {}
    return {"spark.python.unix.domain.socket.enabled": "true", "spark.python.unix.domain.socket.dir": folder}


@cache
def _folder() -> str | None:
    """One for this process; it goes when the process does."""
    folder = tempfile.mkdtemp(prefix="penstock-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder if len(folder.encode()) + NAME <= LONGEST else None
