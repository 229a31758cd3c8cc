"""What a proxy does with a request: rules that a test makes and unmakes while the traffic flows."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from penstock.testing.proxy.wire import Answer, Request, name_of, read_frame, write_frame

ANSWER_SECONDS = 30.0


class Action(Enum):
    """What is done to a request. What is sent later on the same connection waits behind it, as TCP would have it."""

    HOLD = "the request waits until it is released"
    HOLD_ANSWER = "the request goes through; its answer waits until it is released"
    LOSE = "the request is taken and its connection cut; it can still be released, as a late one"
    LOSE_ANSWER = "the request goes through and is answered; the connection is cut instead of passing the answer on"
    COPY = "the request goes through, and a copy is kept: released, it comes a second time"
    DELAY = "the request goes through some seconds late"


@dataclass
class Rule:
    """An action for requests of one kind."""

    action: Action
    key: int
    times: int | None = 1
    """How many requests it is for; None for all."""
    of: str = ""
    """Only requests that hold this text: a client id, a transactional id, a topic or a group."""
    seconds: float = 0.0

    def takes(self, request: Request) -> bool:
        """Whether this request is for the rule; counts it, if so. Called by one thread at a time."""
        if request.key != self.key or self.times == 0 or self.of.encode() not in request.frame:
            return False
        if self.times is not None:
            self.times -= 1
        return True

    def end(self) -> None:
        """Let everything through from now on. What is held stays held."""
        self.times = 0

    def __str__(self) -> str:
        return f"{self.action.name} {name_of(self.key)}"


@dataclass
class Held:
    """A request, or its answer, in the proxy's hands."""

    request: Request
    action: Action
    target: Callable[[], socket.socket]
    """Opens a connection to the broker."""
    client_is_there: Callable[[], bool]
    answer: Answer | None = None
    released: threading.Event = field(default_factory=threading.Event)
    answered: threading.Event = field(default_factory=threading.Event)
    dropped: bool = False

    def release(self) -> Answer | None:
        """Let it go on, and give the broker's answer; None if there was none in 30 seconds.

        A request whose client is still waiting goes the way it came. If the client has gone, it is delivered all the
        same, on a connection of its own, as a late packet would be. One that was lost or copied comes once more each
        time that it is released.
        """
        late = self.action is Action.HOLD and not self.client_is_there()
        if late or self.action in (Action.LOSE, Action.COPY):
            self.dropped = True
            self.note(self._deliver())
        self.released.set()
        self.answered.wait(ANSWER_SECONDS)
        return self.answer

    def drop(self) -> None:
        """Never let it go on; its connection is cut."""
        self.dropped = True
        self.released.set()

    def note(self, answer: Answer | None) -> None:
        self.answer = answer
        self.answered.set()

    def _deliver(self) -> Answer | None:
        with self.target() as connection:
            connection.settimeout(ANSWER_SECONDS)
            write_frame(connection, self.request.frame)
            frame = read_frame(connection) if self.request.answered else None
        return None if frame is None else Answer(self.request, frame)

    def __str__(self) -> str:
        return f"{self.action.name} {self.request}"
