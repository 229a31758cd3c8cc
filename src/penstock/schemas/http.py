"""Calls of a registry's API, each bounded: in time, in size, in redirects. What is no JSON of the API is told as such.

confluent-kafka's own client follows any redirect, reads answers of any size and does not bound a slow one as a whole;
a pipeline that runs for months meets all three.
"""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from penstock.errors import SetupFailed, Unavailable
from penstock.schemas.options import LOOPBACK, RegistryOptions
from penstock.version import __version__

MOST_BYTES = 8_000_000
MOST_REDIRECTS = 3
JSON_TYPE = "application/vnd.schemaregistry.v1+json"


class ApiError(Exception):
    """The registry's own error: its HTTP status, its code and its words."""

    def __init__(self, status: int, code: int, words: str) -> None:
        super().__init__(f"{words} ({code or status})")
        self.status, self.code, self.words = status, code, words


@dataclass(frozen=True)
class Api:
    """One registry's API."""

    options: RegistryOptions

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer's JSON. Raises ApiError for an error of the registry's own, Unavailable for anything else."""
        url = f"{self.options.url}{path}"
        deadline = time.monotonic() + self.options.timeout.seconds
        for _ in range(MOST_REDIRECTS + 1):
            status, moved, kind, text = self._once(method, url, body, deadline)
            if status not in (301, 302, 303, 307, 308):
                return self._answer(status, kind, text)
            url = self._followed(url, moved)
        raise self._away(f"it sends us on more than {MOST_REDIRECTS} times")

    def _once(self, method: str, url: str, body: Any, deadline: float) -> tuple[int, str, str, bytes]:
        parts = urlsplit(url)
        data = None if body is None else json.dumps(body).encode()
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection = self._connection(parts.scheme, parts.hostname or "", parts.port, deadline)
            try:
                connection.request(method, target, data, self._headers(data is not None))
                answer = connection.getresponse()
                text = self._body(answer, connection, deadline)
                return answer.status, answer.headers.get("Location", ""), answer.headers.get_content_type(), text
            finally:
                connection.close()
        except TimeoutError as error:
            raise self._away(f"it did not answer within {self.options.timeout.text}") from error
        except ssl.SSLError as error:
            raise self._away(f"its certificate is not accepted: {error.reason or error}") from error
        except (OSError, http.client.HTTPException) as error:
            raise self._away(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from error

    def _connection(self, scheme: str, host: str, port: int | None, deadline: float) -> http.client.HTTPConnection:
        left = max(0.05, deadline - time.monotonic())
        if scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=left)
        return http.client.HTTPSConnection(host, port, timeout=left, context=self._tls())

    def _tls(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.options.ca)
        except (OSError, ssl.SSLError) as error:
            raise SetupFailed(
                f"the registry's `ca` {self.options.ca} cannot be read: {error}", remedy="It must be a PEM file."
            ) from error

    def _headers(self, with_body: bool) -> dict[str, str]:
        made = {"Accept": f"{JSON_TYPE}, application/json", "User-Agent": f"penstock/{__version__}"}
        if with_body:
            made["Content-Type"] = JSON_TYPE
        if self.options.username is not None and self.options.password is not None:
            pair = f"{self.options.username}:{self.options.password.resolve()}".encode()
            made["Authorization"] = "Basic " + base64.b64encode(pair).decode()
        elif self.options.token is not None:
            made["Authorization"] = f"Bearer {self.options.token.resolve()}"
        return made

    def _body(self, answer: http.client.HTTPResponse, connection: http.client.HTTPConnection, deadline: float) -> bytes:
        """The whole answer, if it is not too large and not too slow."""
        parts, size = [], 0
        while chunk := answer.read1(65_536):
            size += len(chunk)
            if size > MOST_BYTES:
                raise self._away(f"its answer is larger than {MOST_BYTES // 1_000_000} MB")
            if time.monotonic() > deadline:
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(max(0.05, deadline - time.monotonic()))
            parts.append(chunk)
        return b"".join(parts)

    def _followed(self, url: str, moved: str) -> str:
        """Where a redirect leads, if it stays with the same host and does not leave TLS."""
        target = urljoin(url, moved)
        before, after = urlsplit(url), urlsplit(target)
        same = (before.hostname, before.port) == (after.hostname, after.port) or before.hostname == after.hostname
        safe = after.scheme == "https" or (after.scheme == "http" and after.hostname in LOOPBACK)
        if not moved or not same or not safe:
            raise self._away("it sends us on to another host, which is not followed")
        return target

    def _answer(self, status: int, kind: str, text: bytes) -> Any:
        if status in (401, 403):
            raise SetupFailed(
                f"the schema registry {self.options.url} refuses us ({status}).",
                data="Nothing was written.",
                remedy="Check `username` and `password`, or `token`, of the section  registry.",
            )
        if status >= 500 or status == 429:
            raise self._away(f"it answers {status} {http.client.responses.get(status, '')}".rstrip())
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            raise self._away(f"it answers {status} with {_named(kind, text)}, not with JSON") from None
        if status >= 400:
            told = body if isinstance(body, dict) else {}
            code = told.get("error_code")
            raise ApiError(status, code if isinstance(code, int) else 0, str(told.get("message", ""))[:500])
        return body

    def _away(self, why: str) -> Unavailable:
        return Unavailable(
            f"the schema registry {self.options.url} cannot be used: {why}.",
            data="Schemas that were seen before are kept and still read; nothing is lost.",
            remedy="Check the URL, and the registry itself.",
        )


def _named(kind: str, text: bytes) -> str:
    if kind == "text/html" or text.lstrip()[:1] == b"<":
        return "a page of HTML"
    return f"{len(text)} bytes of {kind}"
