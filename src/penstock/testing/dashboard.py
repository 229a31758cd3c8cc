"""The dashboard in a thread of the test, on a real port, and the simplest of clients for it."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.testing.harness import wait_until
from penstock.ui.serve import Served, served
from penstock.ui.shop import Shop

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Dashboard:
    """A running dashboard."""

    served: Served

    @property
    def url(self) -> str:
        return self.served.url.rstrip("/")

    @property
    def port(self) -> int:
        port: int = self.served.socket.getsockname()[1]
        return port

    def ask(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET") -> Reply:
        """One request, as it is: no redirects, no cookies of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, headers=dict(headers or {}))
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, names, answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        """The JSON under /api/v1."""
        reply = self.ask(f"/api/v1{path}")
        assert reply.status == 200, reply.body
        return reply.json()


@contextmanager
def dashboard(
    folders: list[Path],
    pipelines: list[tuple[Path, Pipeline]] | None = None,
    host: str = "127.0.0.1",
    token: str | None = None,
) -> Iterator[Dashboard]:
    """A dashboard over these folders while the block runs."""
    ready = served(Shop(pipelines or [], folders), host, 0, token)
    thread = threading.Thread(target=ready.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: ready.server.started, "the dashboard listens", 30)
        yield Dashboard(ready)
    finally:
        ready.server.should_exit = True
        thread.join(30)
        ready.socket.close()
    assert not thread.is_alive(), "the dashboard did not stop"
