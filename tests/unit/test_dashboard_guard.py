"""The dashboard's door: methods, hosts, tokens, headers, and that nothing of it is loaded by the other verbs."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock
from penstock.errors import Refused, SetupFailed
from penstock.testing.dashboard import Dashboard, dashboard
from penstock.testing.harness import wait_until
from penstock.testing.kept_state import KeptState
from penstock.ui import serve
from penstock.ui.guard import POLICY, host_in, is_loopback
from penstock.ui.shop import Shop

TOKEN = "a-token-of-the-tests-own"


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return KeptState(tmp_path_factory.mktemp("door"), batches=2).write().state


@pytest.fixture(scope="module")
def board(state: Path) -> Iterator[Dashboard]:
    with dashboard([state]) as made:
        yield made


@pytest.fixture(scope="module")
def guarded(state: Path) -> Iterator[Dashboard]:
    with dashboard([state], host="0.0.0.0", token=TOKEN) as made:
        yield made


@pytest.mark.parametrize(
    "path", ["/", "/p/orders", "/static/app.js", "/static/style.css", "/api/v1/pipelines", "/api/v1/nix", "/nix"]
)
def test_every_answer_has_the_headers_that_bind_the_browser(board: Dashboard, path: str) -> None:
    headers = board.ask(path).headers
    assert headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    assert not [name for name in headers if name.startswith("access-control-")]
    assert "server" not in headers


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_it_only_reads(board: Dashboard, method: str) -> None:
    for path in ("/api/v1/pipelines", "/"):
        assert board.ask(path, method=method).status == 405


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", ""])
def test_on_loopback_another_host_is_refused(board: Dashboard, host: str) -> None:
    reply = board.ask("/api/v1/pipelines", {"Host": host})
    assert reply.status in (400, 421)
    assert b"orders" not in reply.body


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1", "[::1]:7", "LOCALHOST:8"])
def test_on_loopback_the_names_of_this_machine_pass(board: Dashboard, host: str) -> None:
    assert board.ask("/api/v1/pipelines", {"Host": host}).status == 200


def test_without_the_token_there_is_nothing_but_the_page_s_own_files(guarded: Dashboard) -> None:
    for path in ("/api/v1/pipelines", "/", "/p/orders", "/api/v1/openapi.json", "/?token=wrong", "/?token="):
        reply = guarded.ask(path)
        assert reply.status == 401, path
        assert "token" in reply.json()["detail"]
        assert "set-cookie" not in reply.headers
    assert guarded.ask("/static/style.css").status == 200
    person = guarded.ask("/p/orders", {"Accept": "text/html,*/*"})
    assert (person.status, person.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b"orders" not in person.body


def test_the_token_is_taken_once_and_then_its_proof_is_kept_in_a_cookie(guarded: Dashboard) -> None:
    reply = guarded.ask(f"/?token={TOKEN}")
    cookie = reply.headers["set-cookie"]
    assert reply.status == 200
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert guarded.ask("/api/v1/pipelines", {"Cookie": cookie.split(";")[0]}).status == 200
    assert guarded.ask("/api/v1/pipelines", {"Cookie": cookie.split(";")[0] + "0"}).status == 401


@pytest.mark.parametrize(
    ("value", "status"),
    [
        (f"Bearer {TOKEN}", 200), (f"bearer {TOKEN}", 200), (f"Bearer {TOKEN[:-1]}", 401), (f"Basic {TOKEN}", 401),
        ("Bearer ", 401),
    ],
)  # fmt: skip
def test_programs_send_it_as_bearer(guarded: Dashboard, value: str, status: int) -> None:
    assert guarded.ask("/api/v1/pipelines", {"Authorization": value}).status == status


def test_any_other_host_than_loopback_has_a_token_and_a_short_one_is_refused() -> None:
    assert serve.token_for("127.0.0.1", None) is None
    assert serve.token_for("127.0.0.1", TOKEN) == TOKEN
    made = serve.token_for("0.0.0.0", None)
    assert made is not None
    assert len(made) >= 32
    assert made != serve.token_for("0.0.0.0", None)
    with pytest.raises(Refused, match="can be guessed"):
        serve.token_for("127.0.0.1", "short")


def test_a_port_that_is_taken_is_told_in_words(board: Dashboard) -> None:
    with pytest.raises(SetupFailed, match=f"127.0.0.1:{board.port} cannot be had"):
        serve.served(Shop([], []), "127.0.0.1", board.port)


@pytest.mark.parametrize(
    ("header", "host"), [("a:1", "a"), ("a", "a"), ("[::1]:80", "::1"), ("[::1]", "::1"), ("", "")]
)
def test_the_host_is_read_without_its_port(header: str, host: str) -> None:
    assert host_in(header) == host


def test_loopback_is_known_by_name_and_address() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.evil.org", ""]))


def test_no_file_of_the_page_asks_for_anything_elsewhere_or_parses_data_as_html() -> None:
    folder = Path(penstock.__file__).parent / "ui" / "static"
    texts = {path.name: path.read_text() for path in folder.rglob("*") if path.suffix in (".js", ".css", ".html")}
    assert len(texts) > 10
    for name, text in texts.items():
        for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert word not in text, f"{name} has {word}"
        assert "style=" not in text.replace("data-theme=", ""), name
        outside = re.findall(r"""["'(](?:https?:)?//[^"')]*""", text)
        assert set(outside) <= {'"http://www.w3.org/2000/svg'}, name


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(penstock.__file__).parent.parent)}


def test_the_other_verbs_load_no_web_server() -> None:
    web = ("fastapi", "uvicorn", "starlette")
    code = f"import sys, penstock.cli; print([name for name in sys.modules if name.split('.')[0] in {web}])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment())
    assert done.stdout.strip() == "[]"


def test_the_command_prints_its_address_serves_and_ends_with_a_signal(state: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with out.open("w") as target:
        command = [sys.executable, "-m", "penstock", "ui", "--state", str(state), "--host", "0.0.0.0"]
        process = subprocess.Popen(command, stdout=target, stderr=subprocess.STDOUT, env=environment())
    try:
        wait_until(lambda: "Ctrl-C" in out.read_text(), "the address is printed", 60)
        assert "penstock ui: http://0.0.0.0:" in out.read_text()
        assert "?token=" in out.read_text()
    finally:
        process.send_signal(signal.SIGINT)
        code = process.wait(60)
    assert "Traceback" not in out.read_text()
    assert code in (0, 130, -signal.SIGINT)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "penstock", "ui", "--state", str(tmp_path / "nix")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=60)
    assert done.returncode == 3
    assert "there is no folder" in done.stderr
