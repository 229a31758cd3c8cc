"""Serves the dashboard: a socket, a token where others can reach it, and the server until somebody ends it."""

from __future__ import annotations

import secrets
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import Refused, SetupFailed
from penstock.ui.guard import LEAST_TOKEN, Guard, is_loopback

if TYPE_CHECKING:
    import uvicorn

    from penstock.ui.shop import Shop


@dataclass(frozen=True)
class Served:
    """A server that is ready to run, and the address to open."""

    server: uvicorn.Server
    socket: socket.socket
    shop: Shop
    url: str
    token: str | None

    @property
    def address(self) -> str:
        """With the token in it, for the first visit."""
        return self.url if self.token is None else f"{self.url}?token={self.token}"

    def run(self) -> None:
        """Serve until a signal comes."""
        from penstock.ui.app import warm

        threading.Thread(target=warm, args=(self.shop,), name="penstock-ui-warm", daemon=True).start()
        self.server.run(sockets=[self.socket])


def served(shop: Shop, host: str, port: int, token: str | None = None) -> Served:
    """The dashboard on this host and port (0: any that is free). Another host than loopback has a token, always."""
    import uvicorn

    from penstock.ui.app import application
    from penstock.ui.assets import assets

    token = token_for(host, token)
    bound = _bound(host, port)
    taken = bound.getsockname()[1]
    guard = Guard(application(shop), token, is_loopback(host), taken, assets()["index.html"].body)
    config = uvicorn.Config(
        guard, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="off",
        timeout_graceful_shutdown=2,
    )  # fmt: skip
    name = f"[{host}]" if ":" in host else host
    return Served(uvicorn.Server(config), bound, shop, f"http://{name}:{taken}/", token)


def token_for(host: str, token: str | None) -> str | None:
    """The token that is asked for: the given one, one of our own where others can reach the host, else none."""
    if token is None:
        return None if is_loopback(host) else secrets.token_urlsafe(32)
    if len(token) < LEAST_TOKEN:
        raise Refused(
            f"penstock ui: a token of {len(token)} characters can be guessed; it needs {LEAST_TOKEN}.",
            data="Nothing was started.",
            remedy="Leave --token out, and one is made and printed.",
        )
    return token


def _bound(host: str, port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise SetupFailed(
            f"penstock ui: {host}:{port} cannot be had: {error.strerror or error}.",
            data="Nothing was started.",
            remedy="Choose another port, or any that is free:  penstock ui --port 0",
        ) from error
    return made
