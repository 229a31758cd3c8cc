"""The demo's producer: payments at an even pace, in a thread of its own, keeping its own books."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from penstock.dev.payments import Event, payments
from penstock.dev.records import produce_pairs

_AMOUNT = re.compile(rb'"amount":([0-9.]+)')
_LOOK_EVERY = 50
"""Events between two looks at the clock."""


class Producer:
    """Sends `count` payments over `seconds`. What it sent is in `sent`, `bad`, `amount`: the demo's expectation."""

    def __init__(self, bootstrap: str, topic: str, count: int, seconds: float) -> None:
        self.bootstrap, self.topic, self.count, self.seconds = bootstrap, topic, count, seconds
        self.sent = 0
        self.limit = 1.0
        """The share of the events that it may send for now: on a slow machine the stream waits for the pipeline."""
        self.bad: dict[bytes | None, str] = {}
        """The broken values and the code each deserves; the two empty ones occur many times."""
        self.codes: Counter[str] = Counter()
        self.amount = Decimal(0)
        """The sum over the good events."""
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._produce, name="producer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End early and wait for it; what was handed over is delivered or given up."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    @property
    def done(self) -> bool:
        """Whether every record is acknowledged by the broker. Raises what went wrong, if something did."""
        if self._failure is not None:
            raise self._failure
        return self.sent == self.count and not self._thread.is_alive()

    def _produce(self) -> None:
        try:
            produce_pairs(self.bootstrap, self.topic, self._paced())
        except BaseException as error:  # raised again where the main thread looks
            self._failure = error

    def _paced(self) -> Iterator[tuple[bytes, bytes | None]]:
        due = time.monotonic()
        for event in payments(self.count):
            if self.sent % _LOOK_EVERY == 0:
                due = self._wait_until(due + self.seconds * _LOOK_EVERY / self.count)
            if self._stop.is_set():
                return
            self._book(event)
            yield event.key, event.value

    def _wait_until(self, due: float) -> float:
        """Wait for the moment and for leave to go on; gives the moment, moved by what the leave took."""
        self._stop.wait(max(0.0, due - time.monotonic()))
        while self.sent >= self.limit * self.count and not self._stop.wait(0.02):
            due = time.monotonic()
        return due

    def _book(self, event: Event) -> None:
        self.sent += 1
        if event.code is not None:
            self.codes[event.code] += 1
            self.bad[event.value] = event.code
        elif event.value is not None and (amount := _AMOUNT.search(event.value)):
            self.amount += Decimal(amount[1].decode())
