"""Notifiers: a webhook or a command is told of an alert, from a thread of its own. A batch never waits for one."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from pathlib import Path
from queue import Empty, Full, Queue
from typing import Any, Protocol

from penstock.alarms import ToCommand, ToWebhook, Webhook
from penstock.errors import PenstockError
from penstock.version import __version__

TIMEOUT_SECONDS, COMMAND_SECONDS = 10.0, 30.0
TRIES, FIRST_PAUSE, LONGEST_PAUSE = 6, 1.0, 60.0
WAITING = 200
"""So many alerts may wait for a notifier that does not answer; later ones are left out, and that is said."""


class NotTold(Exception):
    """A notifier could not be told. `again`: it may work later."""

    def __init__(self, what: str, *, again: bool) -> None:
        super().__init__(what)
        self.again = again


class Notifier(Protocol):
    """Something that can be told of an alert."""

    def tell(self, event: Mapping[str, Any]) -> str:
        """Tell it; gives what was answered. Raises NotTold."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A POST that is redirected would become a GET, and look like a success."""

    def redirect_request(self, *_: Any) -> None:
        return None


class WebhookNotifier:
    """POSTs the event. Nothing of the address is ever told: it is a secret."""

    def __init__(self, options: Webhook, timeout: float = TIMEOUT_SECONDS) -> None:
        self.options, self.timeout = options, timeout
        self._open = urllib.request.build_opener(_NoRedirect()).open

    def tell(self, event: Mapping[str, Any]) -> str:
        body = filled(self.options.body, event) if self.options.body else json.dumps(event)
        kind = "application/json" if _is_json(body) else "text/plain; charset=utf-8"
        try:
            given = {name: secret.resolve() for name, secret in self.options.headers.items()}
            headers = {"Content-Type": kind, "User-Agent": f"penstock/{__version__}", **given}
            url = self.options.url.resolve()
            if not re.match(r"https?://", url):
                raise NotTold("its url does not begin with http:// or https://", again=False)
            request = urllib.request.Request(url, body.encode(), headers, method="POST")
            with self._open(request, timeout=self.timeout) as answer:
                return f"HTTP {answer.status}"
        except urllib.error.HTTPError as error:
            error.close()
            again = error.code >= 500 or error.code in (408, 425, 429)
            raise NotTold(f"it answered HTTP {error.code} {error.reason}".rstrip(), again=again) from None
        except PenstockError as error:
            raise NotTold(error.what, again=False) from None
        except (OSError, HTTPException) as error:
            why = getattr(error, "reason", None) or error
            raise NotTold(f"it does not answer: {why or type(error).__name__}", again=True) from None
        except ValueError:  # its message may hold the address, or a header
            raise NotTold("its url or a header cannot be used", again=False) from None


class CommandNotifier:
    """Starts a command, with the event as JSON on its input."""

    def __init__(self, command: tuple[str, ...], folder: Path, timeout: float = COMMAND_SECONDS) -> None:
        self.command, self.folder, self.timeout = command, folder, timeout

    def tell(self, event: Mapping[str, Any]) -> str:
        try:
            done = subprocess.run(
                self.command,
                input=json.dumps(event).encode(),
                capture_output=True,
                timeout=self.timeout,
                cwd=self.folder,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotTold(f"it took more than {self.timeout:.0f} seconds, and was ended", again=True) from None
        except OSError as error:
            raise NotTold(f"it cannot be started: {error.strerror or error}", again=False) from None
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [""]
            raise NotTold(f"it ended with code {done.returncode} {said[0][:200]}".rstrip(), again=True)
        return "ended with code 0"


def notifier_of(options: ToWebhook | ToCommand, folder: Path) -> Notifier:
    """A notifier; `folder` is that of the pipeline file, where commands are started."""
    if isinstance(options, ToWebhook):
        return WebhookNotifier(options.webhook)
    return CommandNotifier(options.command, folder)


def filled(template: str, event: Mapping[str, Any]) -> str:
    """The template with values in place of `{{name}}`, each as it must be inside JSON text."""

    def value(match: re.Match[str]) -> str:
        found = event.get(match[1], "")
        return json.dumps(found if isinstance(found, str) else json.dumps(found), ensure_ascii=False)[1:-1]

    return re.sub(r"\{\{\s*([a-z_]+)\s*\}\}", value, template)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


class Desk:
    """Tells one notifier, in order, in a thread of its own; tries again with longer and longer pauses."""

    def __init__(
        self, name: str, notifier: Notifier, say: Callable[[str], None], first_pause: float = FIRST_PAUSE
    ) -> None:
        self.name, self.notifier, self.say, self.first_pause = name, notifier, say, first_pause
        self._waiting: Queue[Mapping[str, Any]] = Queue(WAITING)
        self._closing = threading.Event()
        self._said = False
        self._thread = threading.Thread(target=self._run, name=f"penstock-notify-{name}", daemon=True)
        self._thread.start()

    def put(self, event: Mapping[str, Any]) -> None:
        """Costs the caller nothing."""
        try:
            self._waiting.put_nowait(event)
        except Full:
            self._complain(f"{WAITING} alerts wait for it already; this one is left out")

    def close(self, until: float) -> None:
        """Tell what waits, once each, and not after this time (of `time.monotonic`)."""
        self._closing.set()
        self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while True:
            try:
                event = self._waiting.get(timeout=0.2)
            except Empty:
                if self._closing.is_set():
                    return
                continue
            self._deliver(event)

    def _deliver(self, event: Mapping[str, Any]) -> None:
        pause = self.first_pause
        for attempt in range(TRIES):
            try:
                self.notifier.tell(event)
                self._said = False
                return
            except NotTold as error:
                self._complain(str(error))
                if not error.again or attempt == TRIES - 1 or self._closing.wait(pause):
                    return
                pause = min(LONGEST_PAUSE, pause * 3)
            except Exception as error:
                self._complain(f"{type(error).__name__}: {error}")
                return

    def _complain(self, why: str) -> None:
        if not self._said:
            self._said = True
            self.say(f"notifier {self.name} could not be told of an alert: {why}. No batch is affected.")
