"""What stands in front of every request: the methods, the Host header, the token, and headers that bind the browser."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
LEAST_TOKEN = 16
NO_TOKEN = (
    "This dashboard needs its token. Open the address that `penstock ui` printed, with `?token=...`, or send it as "
    "`Authorization: Bearer ...`."
)
WRONG_HOST = "This dashboard answers on this machine only, by the names 127.0.0.1, localhost and [::1]."
READ_ONLY = "This dashboard only reads: there is nothing to change here, and no other method than GET."


def is_loopback(host: str) -> bool:
    """Is this a name or an address that only this machine can reach?"""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_in(header: str) -> str:
    """The Host header without its port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0]


@dataclass
class Guard:
    """Refuses what may not pass; gives every answer its headers."""

    app: App
    token: str | None
    loopback: bool
    """Whether only this machine can reach us: then any other Host is a trick of a web page (DNS rebinding)."""
    port: int
    page: bytes = b""
    """What a browser is given that comes without the token: the page without any data, which then says so."""

    @property
    def cookie(self) -> str:
        return f"penstock_{self.port}"  # browsers send a cookie to every port of a host

    @property
    def pass_(self) -> str:
        """What the cookie holds: it proves the token and does not tell it."""
        return hashlib.sha256(f"penstock ui {self.token}".encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        extra: list[tuple[bytes, bytes]] = [*HEADERS, (b"x-time", f"{time.time():.3f}".encode())]

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        refused = self._refused(scope, headers)
        if refused is not None:
            wants_page = "text/html" in headers.get("accept", "") and not scope["path"].startswith("/api/")
            if refused[0] == 401 and wants_page and self.page:
                await _send(with_headers, 401, b"text/html; charset=utf-8", self.page)
            else:
                await _refuse(with_headers, *refused)
            return
        if self.token is not None and self._given(scope):
            cookie = f"{self.cookie}={self.pass_}; Path=/; HttpOnly; SameSite=Strict"
            extra.append((b"set-cookie", cookie.encode()))
        await self.app(scope, receive, with_headers)

    def _refused(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str, str] | None:
        if scope["method"] != "GET":
            return 405, "Read-only", READ_ONLY
        if self.loopback and not is_loopback(host_in(headers.get("host", ""))):
            return 421, "Another host", WRONG_HOST
        public = scope["path"].startswith("/static/")  # the same for everybody, and the page that refuses needs them
        if self.token is None or public or self._given(scope) or self._known(headers):
            return None
        return 401, "Token needed", NO_TOKEN

    def _given(self, scope: Scope) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[-1]
        return self._same(given, self.token or "")

    def _known(self, headers: dict[str, str]) -> bool:
        word, _, bearer = headers.get("authorization", "").partition(" ")
        if word.lower() == "bearer" and self._same(bearer.strip(), self.token or ""):
            return True
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            return False
        return found is not None and self._same(found.value, self.pass_)

    @staticmethod
    def _same(given: str, right: str) -> bool:
        """In a time that tells nothing of how much was right."""
        return bool(given) and hmac.compare_digest(given.encode(), right.encode())


async def _refuse(send: Send, status: int, title: str, detail: str) -> None:
    body = json.dumps({"title": title, "status": status, "detail": detail}).encode()
    await _send(send, status, b"application/problem+json", body)


async def _send(send: Send, status: int, media_type: bytes, body: bytes) -> None:
    headers = [
        (b"content-type", media_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *([(b"allow", b"GET")] if status == 405 else []),
        *([(b"www-authenticate", b"Bearer")] if status == 401 else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
