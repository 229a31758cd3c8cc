"""One client's connection through the proxy: a thread for the requests, a thread for the answers."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.testing.proxy.rules import Action, Held, Rule
from penstock.testing.proxy.wire import Answer, Request, read_frame, write_frame

if TYPE_CHECKING:
    from penstock.testing.proxy.proxy import Proxy

_GONE = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR


class Link:
    """A client and the broker, until one of them leaves or the proxy cuts them apart."""

    def __init__(self, proxy: Proxy, client: socket.socket, broker: socket.socket) -> None:
        self.proxy, self.client, self.broker = proxy, client, broker
        self.open = True
        self.awaited: dict[int, tuple[Request, Rule | None, Held | None]] = {}
        """By correlation id: requests that the broker has, what to do with the answer, and who wants to know it."""
        self._running = 2
        self._lock = threading.Lock()

    def start(self) -> None:
        for side, take in ((self.client, self._request), (self.broker, self._answer)):
            threading.Thread(target=self._pump, args=(side, take), daemon=True).start()

    def cut(self) -> None:
        """End the connection on both sides."""
        self.open = False
        for side in (self.client, self.broker):
            with contextlib.suppress(OSError):  # it may be closed already
                side.shutdown(socket.SHUT_RDWR)

    def client_is_there(self) -> bool:
        """Whether the client still has its end open, even with requests waiting to be read."""
        with self._lock:
            if not self.open:
                return False
            poll = select.poll()
            poll.register(self.client, _GONE)
            return not poll.poll(0)

    def _pump(self, side: socket.socket, take: Callable[[bytes], bool]) -> None:
        try:
            while self.open and (frame := read_frame(side)) is not None:
                self.proxy.wait_for_light()
                if not take(frame):
                    break
        except OSError:
            pass  # a side that is gone ends the link, which is all there is to do
        self.cut()
        with self._lock:
            self._running -= 1
            if not self._running:
                self.client.close()
                self.broker.close()
                self.proxy.forget(self)

    def _request(self, frame: bytes) -> bool:
        """Pass a request on, or do what a rule says. False ends the link."""
        request = Request(frame)
        rule = self.proxy.rule_for(request)
        held = self._hold(request, rule) if rule and rule.action in (Action.HOLD, Action.LOSE) else None
        if held and (held.action is Action.LOSE or not _let_go(held)):
            return False
        if rule and rule.action is Action.DELAY:
            time.sleep(rule.seconds)
        if request.answered:
            self.awaited[request.correlation] = request, rule, held
        write_frame(self.broker, frame)
        return True

    def _answer(self, frame: bytes) -> bool:
        """Pass an answer on, or do what the request's rule says. False ends the link."""
        request, rule, held = self.awaited.pop(int.from_bytes(frame[:4], "big", signed=True))
        answer = Answer(request, frame)
        if held:
            held.note(answer)
        if rule and rule.action in (Action.HOLD_ANSWER, Action.LOSE_ANSWER, Action.COPY):
            held = self._hold(request, rule, answer)
            if held.action is Action.LOSE_ANSWER or (held.action is Action.HOLD_ANSWER and not _let_go(held)):
                return False
        write_frame(self.client, frame)
        return True

    def _hold(self, request: Request, rule: Rule, answer: Answer | None = None) -> Held:
        held = Held(request, rule.action, self.proxy.connect, self.client_is_there)
        if answer:
            held.note(answer)
        self.proxy.keep(held)
        return held


def _let_go(held: Held) -> bool:
    """Wait for the test's word; whether what is held is to go on its way."""
    held.released.wait()
    return not held.dropped
