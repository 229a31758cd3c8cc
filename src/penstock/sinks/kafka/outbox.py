"""A producer, and what became of the records that were handed to it. Only failures are heard of."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.sinks.kafka.messages import Message

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Producer

    Callbacks = dict[str, Callable[..., None]]

SERVED = 4_095
"""After so many records the client gives their memory back (a power of two, less one)."""


class Failure(NamedTuple):
    """Why something could not be done; and for which topic, if it was about a record."""

    cause: KafkaError
    topic: str | None = None


class Outbox:
    """Sends messages in order. What the client reports as fatal, or as not delivered, is kept in `failure`."""

    def __init__(self, make: Callable[[Callbacks], Producer]) -> None:
        self._fatal: Failure | None = None
        self._undelivered: Failure | None = None
        self.producer = make({"on_delivery": self._not_delivered, "error_cb": self._told})

    @property
    def failure(self) -> Failure | None:
        return self._fatal or self._undelivered

    def send(self, messages: Iterable[Message], deadline: float) -> int:
        """Hand these over, and say how many. Waits where the client is full; raises KafkaException, or BufferError."""
        produce, count = self.producer.produce, 0
        for topic, value, key, headers in messages:
            try:
                produce(topic, value, key, headers=headers)
            except BufferError:
                self._send_later(topic, value, key, headers, deadline)
            count += 1
            if not count & SERVED:
                self.producer.poll(0)
        return count

    def flush(self, deadline: float) -> int:
        """Wait until everything is delivered; says how much is not."""
        return int(self.producer.flush(max(0.1, deadline - time.monotonic())))

    def look(self) -> Failure | None:
        """Hear what the client has to say, and give what went wrong so far."""
        self.producer.poll(0)
        return self.failure

    def _send_later(self, topic: str, value: Any, key: Any, headers: Any, deadline: float) -> None:
        while not self.failure and time.monotonic() < deadline:
            self.producer.poll(0.02)
            try:
                self.producer.produce(topic, value, key, headers=headers)
            except BufferError:
                continue
            return
        raise BufferError

    def _not_delivered(self, error: KafkaError, message: Any) -> None:
        if self._undelivered is None and error.name() not in ("_PURGE_QUEUE", "_PURGE_INFLIGHT"):
            self._undelivered = Failure(error, message.topic())

    def _told(self, error: KafkaError) -> None:
        if error.fatal() and self._fatal is None:
            self._fatal = Failure(error)
