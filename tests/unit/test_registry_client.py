"""The registry's API over a real socket: right answers, and every wrong one, bounded in time, size and redirects."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from penstock.errors import SchemaRefused, SetupFailed, Unavailable
from penstock.options import Duration
from penstock.schemas.cache import Kept
from penstock.schemas.client import Client
from penstock.schemas.contract import Schema
from penstock.schemas.http import MOST_BYTES
from penstock.schemas.options import RegistryOptions
from penstock.secret import Secret

AVRO = '{"type": "record", "name": "O", "fields": [{"name": "id", "type": "long"}]}'
Answer = Callable[[BaseHTTPRequestHandler], None]


class Stub:
    """Answers what a test says, on a port of its own."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.answer: Answer = said(200, {})
        self.asked: list[tuple[str, str, dict[str, str]]] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stub.asked.append((self.command, self.path, dict(self.headers)))
                stub.answer(self)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: Any) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def client(self, **options: Any) -> Client:
        return Client(RegistryOptions(url=self.url, timeout=Duration("2 seconds"), **options))


@pytest.fixture
def stub() -> Iterator[Stub]:
    made = Stub()
    yield made
    made.server.shutdown()
    made.server.server_close()


def said(status: int, body: Any, kind: str = "application/json", **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def test_a_schema_is_read_with_its_format_and_asked_for_by_its_path(stub: Stub) -> None:
    stub.answer = said(200, {"schema": AVRO})
    assert stub.client().by_id(7) == Schema(7, "avro", AVRO)
    stub.answer = said(200, {"subject": "a/b", "version": 3, "id": 9, "schemaType": "PROTOBUF", "schema": "x"})
    assert stub.client().latest("a/b") == (3, Schema(9, "protobuf", "x"))
    assert [path for _, path, _ in stub.asked] == ["/schemas/ids/7", "/subjects/a%2Fb/versions/latest"]


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_what_the_registry_does_not_have_is_no_outage(stub: Stub, code: int) -> None:
    stub.answer = said(404, {"error_code": code, "message": "not found"})
    with pytest.raises(LookupError, match="has no schema id 7"):
        stub.client().by_id(7)


def slowly(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then, for ever: each one comes in time, the whole does not."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            return
        threading.Event().wait(0.05)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (said(500, {"error_code": 50001}), "it answers 500 Internal Server Error"),
        (said(503, b"busy", "text/plain"), "it answers 503 Service Unavailable"),
        (said(429, {}), "it answers 429"),
        (said(200, b"<html>Sign in</html>", "text/html"), "it answers 200 with a page of HTML, not with JSON"),
        (said(404, b"<html>nginx</html>", "text/html"), "it answers 404 with a page of HTML"),
        (said(200, b"{", "application/json"), "it answers 200 with 1 bytes of application/json, not with JSON"),
        (said(200, {"nothing": 1}), "an answer that is not a schema"),
        (said(200, []), "an answer that is not a schema"),
        (said(200, {"schema": AVRO, "schemaType": "THRIFT"}), "an answer that is not a schema"),
        (said(200, {"schema": AVRO, "references": [{"name": "x"}]}), "not the references of a schema"),
        (said(200, b" " * (MOST_BYTES + 70_000)), "larger than 8 MB"),
        (said(302, b"", Location="/again"), "it sends us on more than 3 times"),
        (said(302, b"", Location="http://198.51.100.7/x"), "to another host, which is not followed"),
        (said(307, b""), "to another host, which is not followed"),
        (slowly, "did not answer within 2 seconds"),
    ],
)
def test_a_wrong_answer_is_an_outage_told_in_words(stub: Stub, answer: Answer, words: str) -> None:
    stub.answer = answer
    with pytest.raises(Unavailable, match=words):
        stub.client().by_id(7)


def test_a_registry_that_is_not_there_is_an_outage(stub: Stub) -> None:
    gone = RegistryOptions(url="http://127.0.0.1:9", timeout=Duration("1 second"))
    with pytest.raises(Unavailable, match="ConnectionRefusedError"):
        Client(gone).subjects()


def test_a_redirect_to_the_same_host_is_followed(stub: Stub) -> None:
    def moved(handler: BaseHTTPRequestHandler) -> None:
        once = said(307, b"", Location="/v7/schemas/ids/7") if handler.path == "/schemas/ids/7" else None
        (once or said(200, {"schema": AVRO}))(handler)

    stub.answer = moved
    assert stub.client().by_id(7).text == AVRO


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine that nobody but itself has signed, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(minutes=5))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(made.public_bytes(Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return paths


def test_tls_is_checked_against_the_given_authority(tmp_path: Path) -> None:
    cert, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    secure = Stub(context)
    secure.answer = said(200, {"schema": AVRO})
    url = f"https://localhost:{secure.server.server_port}"
    try:
        assert Client(RegistryOptions(url=url, ca=str(cert))).by_id(7).text == AVRO
        with pytest.raises(Unavailable, match="its certificate is not accepted"):
            Client(RegistryOptions(url=url)).by_id(7)
        with pytest.raises(SetupFailed, match="cannot be read"):
            Client(RegistryOptions(url=url, ca=str(tmp_path / "none.pem"))).by_id(7)
    finally:
        secure.server.shutdown()
        secure.server.server_close()


def test_credentials_are_sent_and_a_refusal_is_told_without_them(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_SECRET", "s3cret")
    stub.answer = said(401, {"error_code": 401})
    with pytest.raises(SetupFailed, match="refuses us") as caught:
        stub.client(username="me", password=Secret("${env:REGISTRY_SECRET}")).by_id(1)
    assert "s3cret" not in str(caught.value)
    with pytest.raises(SetupFailed):
        stub.client(token=Secret("${env:REGISTRY_SECRET}")).by_id(1)
    sent = [headers["Authorization"] for _, _, headers in stub.asked]
    assert sent == ["Basic " + base64.b64encode(b"me:s3cret").decode(), "Bearer s3cret"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"url": "http://registry.example.com"}, "plain http"),
        ({"url": "https://me:word@registry.example.com"}, "holds a user"),
        ({"url": "ftp://x"}, "no URL of a registry"),
        ({"url": "https://x", "folder": "y"}, "exactly one"),
        ({}, "exactly one"),
        ({"url": "https://x", "username": "me"}, "go together"),
        ({"folder": "y", "token": Secret("${env:X}")}, "a folder takes no `token`"),
    ],
)
def test_settings_that_cannot_work_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        RegistryOptions(**options)
    assert "word@" not in str(caught.value)


def test_references_are_resolved_once_each_and_those_that_go_round_are_refused(stub: Stub) -> None:
    def versions(handler: BaseHTTPRequestHandler) -> None:
        name = handler.path.split("/")[2]
        refers = {"a": [_reference("b"), _reference("c")], "b": [_reference("c")], "c": []}
        said(200, {"id": 1, "version": 1, "schema": name.upper(), "references": refers[name]})(handler)

    stub.answer = versions
    made = stub.client().version("a", 1)
    assert made.imported == (("c", "C"), ("b", "B"))

    stub.answer = said(200, {"id": 1, "version": 1, "schema": "x", "references": [_reference("a")]})
    with pytest.raises(SchemaRefused, match="refer to one another without an end"):
        stub.client().version("a", 1)


def _reference(name: str) -> dict[str, Any]:
    return {"name": name, "subject": name, "version": 1}


def test_registering_tells_the_registrys_own_reason(stub: Stub) -> None:
    stub.answer = said(200, {"id": 12})
    assert stub.client().register("s", Schema(0, "avro", AVRO)) == 12
    stub.answer = said(409, {"error_code": 409, "message": "READER_FIELD_MISSING_DEFAULT_VALUE"})
    with pytest.raises(SchemaRefused, match="READER_FIELD_MISSING_DEFAULT_VALUE"):
        stub.client().register("s", Schema(0, "avro", AVRO))
    stub.answer = said(200, {"is_compatible": False, "messages": ["no default"]})
    assert stub.client().compatible("s", Schema(0, "avro", AVRO)) == ["no default"]
    stub.answer = said(200, {"is_compatible": True})
    assert stub.client().compatible("s", Schema(0, "avro", AVRO)) == []


def test_what_was_seen_once_is_never_asked_for_again_and_cannot_change(stub: Stub, tmp_path: Path) -> None:
    stub.answer = said(200, {"schema": AVRO})
    first = Kept(stub.client(), stub.url, tmp_path)
    assert first.by_id(7).text == AVRO
    assert first.by_id(7).text == AVRO
    assert len(stub.asked) == 1
    stub.answer = said(500, {})
    later = Kept(stub.client(), stub.url, tmp_path)
    assert later.by_id(7).text == AVRO
    with pytest.raises(Unavailable):
        Kept(stub.client(), "https://another.example.com", tmp_path).by_id(7)
