"""Ports of the loopback for what we start.

Below those that systems hand to clients. From among these, a client could sit on the port of a broker that is being
started again, even connect to itself there; and a stranger's server could come to a port that our clients still try.
"""

from __future__ import annotations

import secrets
import socket

LOWEST, HIGHEST = 20_000, 32_700
"""Linux gives ports from 32,768 to clients, macOS from 49,152."""


def free_port() -> int:
    """One that nobody listens on now."""
    while True:
        port = LOWEST + secrets.randbelow(HIGHEST - LOWEST)  # `random` may have been seeded: two would draw the same
        if is_free(port):
            return port


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the broker does: TIME_WAIT is no obstacle
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
