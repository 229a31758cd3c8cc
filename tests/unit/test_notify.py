"""Webhooks and commands are told of alerts, are tried again, and hold up nobody."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from penstock.alarms import Webhook
from penstock.cli import built
from penstock.engine.observer import Observer
from penstock.observe.alerts import Signals, body_of, example
from penstock.observe.events import AlertCleared, AlertRaised, BatchCommitted, Event, RunStarted, Warned
from penstock.observe.notify import CommandNotifier, Desk, NotTold, WebhookNotifier, filled
from penstock.observe.now import LastBatch, Now
from penstock.observe.now import read as read_now
from penstock.secret import Secret
from penstock.spec import pipeline_from_text
from penstock.testing.harness import wait_until

FILE = """
pipeline: orders
source: {kafka: {brokers: [localhost:9092], topics: [orders]}}
decode: raw
sinks: {lake: {delta: {table: ./t}}}
"""


class Hook:
    """A webhook that answers as it is told."""

    def __init__(self, *answers: int) -> None:
        self.answers = list(answers)
        self.got: list[tuple[dict[str, str], str]] = []
        self.url = ""


@contextmanager
def hook(*answers: int) -> Iterator[Hook]:
    """Answers with these codes in order, then with 200."""
    made = Hook(*answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            made.got.append((dict(self.headers.items()), body))
            code = made.answers.pop(0) if made.answers else 200
            self.send_response(code)
            if code in (301, 302):
                self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:
            raise AssertionError("a redirect was followed")

        def log_message(self, format: str, *args: object) -> None:
            """Not to the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_port}/secret-path"
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()


def webhook(monkeypatch: pytest.MonkeyPatch, url: str, **more: Any) -> WebhookNotifier:
    monkeypatch.setenv("HOOK", url)
    return WebhookNotifier(Webhook(url=Secret("${env:HOOK}"), **more), timeout=5.0)


EVENT = body_of(example("orders"), "r1")


def test_a_webhook_gets_the_event_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "k1")
    with hook() as made:
        notifier = webhook(monkeypatch, made.url, headers={"Authorization": Secret("${env:KEY}")})
        assert notifier.tell(EVENT) == "HTTP 200"
    [(headers, body)] = made.got
    assert (headers["Content-Type"], headers["Authorization"]) == ("application/json", "k1")
    told = json.loads(body)
    assert (told["event"], told["pipeline"], told["alert"], told["test"]) == ("alert_raised", "orders", "test", True)
    assert told["text"] == "orders: test this is a test, nothing is wrong"


def test_a_body_of_ones_own_is_filled_so_that_json_stays_json(monkeypatch: pytest.MonkeyPatch) -> None:
    nasty = {"text": 'a "quote", a \\ and a\nline', "value": 3.5}
    assert json.loads(filled('{"text": "{{text}}", "v": {{ value }}}', nasty)) == {"text": nasty["text"], "v": 3.5}
    assert filled("{{unknown}}!", nasty) == "!"
    with hook() as made:
        webhook(monkeypatch, made.url, body="{{pipeline}} says {{alert}}").tell(EVENT)
    [(headers, body)] = made.got
    assert (body, headers["Content-Type"]) == ("orders says test", "text/plain; charset=utf-8")


@pytest.mark.parametrize(("code", "again"), [(500, True), (429, True), (404, False), (302, False)])
def test_a_refusal_is_told_without_the_address(code: int, again: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    with hook(code) as made, pytest.raises(NotTold, match=f"HTTP {code}") as failed:
        webhook(monkeypatch, made.url).tell(EVENT)
    assert failed.value.again is again
    assert "secret-path" not in str(failed.value)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/secret-path", "file:///etc/passwd", "no url", "http://[::1"])
def test_an_address_that_leads_nowhere_is_told_without_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotTold) as failed:
        webhook(monkeypatch, url).tell(EVENT)
    assert url not in str(failed.value)
    assert "secret-path" not in str(failed.value)


def test_a_webhook_that_fails_is_tried_again_and_complained_of_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    with hook(500, 503) as made:
        desk = Desk("ops", webhook(monkeypatch, made.url), said.append, first_pause=0.01)
        desk.put(EVENT)
        wait_until(lambda: len(made.got) == 3, "it was tried until it worked")
        desk.put(EVENT)
        wait_until(lambda: len(made.got) == 4, "the next one follows")
        desk.close(time.monotonic() + 10)
    assert len(said) == 1
    assert said[0].startswith("notifier ops could not be told of an alert: it answered HTTP 500")


def test_a_notifier_that_hangs_holds_up_nobody() -> None:
    going = threading.Event()
    told: list[Any] = []

    class Hangs:
        def tell(self, event: Any) -> str:
            going.wait(60)
            told.append(event)
            return ""

    said: list[str] = []
    desk = Desk("slow", Hangs(), said.append)
    for _ in range(300):
        desk.put(EVENT)
    assert len(said) == 1
    assert "wait for it already" in said[0]
    desk.close(time.monotonic() + 0.05)
    assert told == []
    going.set()
    wait_until(lambda: len(told) >= 200, "what waited is told in the end")


def test_a_command_gets_the_event_on_its_input(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    code = "import sys, pathlib; pathlib.Path('out.json').write_text(sys.stdin.read())"
    assert CommandNotifier((sys.executable, "-c", code), tmp_path).tell(EVENT) == "ended with code 0"
    assert json.loads(out.read_text())["alert"] == "test"


def test_a_command_that_fails_says_why(tmp_path: Path) -> None:
    failing = (sys.executable, "-c", "import sys; sys.exit('no such room')")
    with pytest.raises(NotTold, match="ended with code 1 no such room"):
        CommandNotifier(failing, tmp_path).tell(EVENT)
    with pytest.raises(NotTold, match="cannot be started"):
        CommandNotifier(("/no/such/program",), tmp_path).tell(EVENT)
    with pytest.raises(NotTold, match="took more than"):
        CommandNotifier((sys.executable, "-c", "import time; time.sleep(60)"), tmp_path, timeout=0.2).tell(EVENT)


def test_alerts_test_tells_everybody_and_what_each_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notify = f"notify: {{ops: {{webhook: {{url: '${{env:HOOK}}'}}}}, page: {{command: [{sys.executable}, -c, 'raise SystemExit(3)']}}, l: log}}\n"  # fmt: skip  # noqa: E501
    file = tmp_path / "orders.yaml"
    file.write_text(FILE + notify)
    with hook() as made:
        monkeypatch.setenv("HOOK", made.url)
        done = CliRunner().invoke(built(), ["alerts", "test", str(file)])
    assert done.exit_code == 1
    assert "ops: HTTP 200" in done.output
    assert "page: NOT TOLD: it ended with code 3" in done.output
    assert json.loads(made.got[0][1])["test"] is True
    file.write_text(FILE)
    alone = CliRunner().invoke(built(), ["alerts", "test", str(file)])
    assert (alone.exit_code, "log alone" in alone.output) == (0, True)


def test_alerts_list_shows_them_as_the_file_leaves_them(tmp_path: Path) -> None:
    file = tmp_path / "orders.yaml"
    mine = "{name: far, when: lag_seconds > 5 minutes, for: 2 minutes}"
    file.write_text(FILE + f"alerts: [{{name: burst, when: never}}, {mine}]\n")
    said = CliRunner().invoke(built(), ["alerts", "list", str(file)]).output
    assert "far            lag_seconds > 5 minutes for 120 s" in said
    assert "burst" not in said
    told = json.loads(CliRunner().invoke(built(), ["alerts", "list", str(file), "--json"]).output)
    assert [rule["name"] for rule in told][-1] == "far"


def test_a_run_raises_tells_and_clears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = """
alerts:
  - {name: large, when: batch_rows > 5, for: 1 milliseconds, notify: [ops], clear: batch_rows < 3}
  - {name: quietly, when: batch_rows > 5, for: 1 milliseconds, notify: [log]}
notify: {ops: {webhook: {url: "${env:HOOK}"}}}
"""
    events: list[Event] = []
    present = [Now("orders", started_at=time.time(), tries=1)]
    with hook() as made:
        monkeypatch.setenv("HOOK", made.url)
        pipeline = pipeline_from_text(FILE + more, file="orders.yaml", folder=tmp_path)
        signals = Signals(pipeline, "r1", lambda: present[0], events.append)
        with signals.open():
            for rows in (10, 1):
                last = LastBatch(1, time.time(), rows, rows, {}, {}, 1.0, {}, {})
                present[0] = Now("orders", started_at=time.time(), tries=1, last_batch=last)
                signals.tell(wait_until(signals.look, "something has changed"))
            wait_until(lambda: len(made.got) == 2, "the webhook was told of both")
            wait_until(lambda: signals.tell(signals.look()) or not signals.alarms.active, "the other one is over too")
            assert [each["alert"] for each in signals.standing()] == []
            assert signals.figures.read()["alert_active"] == {}
    raised = [event.alert for event in events if isinstance(event, AlertRaised)]
    cleared = [event.alert for event in events if isinstance(event, AlertCleared)]
    assert (raised, cleared[:1]) == (["large", "quietly"], ["large"])
    told = [json.loads(body) for _, body in made.got]
    assert [(each["event"], each["alert"]) for each in told] == [("alert_raised", "large"), ("alert_cleared", "large")]
    assert [event for event in events if isinstance(event, Warned | BatchCommitted)] == []


def test_the_error_of_a_run_that_failed_is_told_before_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = Now("orders", tries=1, ended="failed", error="the disk is full")
    with hook() as made:
        monkeypatch.setenv("HOOK", made.url)
        notify = 'notify: {ops: {webhook: {url: "${env:HOOK}"}}}\n'
        pipeline = pipeline_from_text(FILE + notify, file="orders.yaml", folder=tmp_path)
        signals = Signals(pipeline, "r1", lambda: present, lambda _event: None)
        with signals.open():
            signals.tell(signals.look())
        [(_, body)] = made.got
    assert json.loads(body)["text"] == "orders: run_failed the run has failed: the disk is full"


def test_whoever_is_told_and_looks_at_once_finds_what_he_was_told_of(tmp_path: Path) -> None:
    more = "alerts: [{name: old, when: run_seconds > 0, for: 1 milliseconds}]\nobserve: {poll: 100 milliseconds}\n"
    pipeline = pipeline_from_text(FILE + more, file="orders.yaml", folder=tmp_path)
    found: list[list[str]] = []

    def emit(event: Event) -> None:
        if isinstance(event, AlertRaised):
            kept = read_now(tmp_path)
            found.append([each["alert"] for each in kept.alerts] if kept else [])

    observer = Observer(pipeline, tmp_path, "r1", emit)
    with observer.looking():
        observer.heard(RunStarted(pipeline="orders", generation=1, brokers="b:1", state="s", resumes_at=None))
        wait_until(lambda: found, "the alert is raised")
    assert found[0] == ["old"]
