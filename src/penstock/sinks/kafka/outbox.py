"""Handing records to a producer, in order, and waiting where it is full."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from penstock.sinks.kafka.messages import Message

if TYPE_CHECKING:
    from confluent_kafka import Producer

SERVED = 4_095
"""After so many records the client gives their memory back (a power of two, less one)."""


class TooSlow(Exception):
    """The broker did not take everything in time."""


def send(producer: Producer, messages: Iterable[Message], deadline: float) -> int:
    """Hand these over, and say how many."""
    produce, count = producer.produce, 0
    for topic, value, key, headers in messages:
        try:
            produce(topic, value, key, headers=headers)
        except BufferError:
            _wait(producer, (topic, value, key, headers), deadline)
        count += 1
        if not count & SERVED:
            producer.poll(0)
    return count


def flush(producer: Producer, deadline: float) -> None:
    """Wait until everything that was handed over has reached the broker, or has failed."""
    if producer.flush(max(0.1, deadline - time.monotonic())):
        raise TooSlow


def _wait(producer: Producer, message: Message, deadline: float) -> None:
    """Hand one over as soon as there is room."""
    topic, value, key, headers = message
    while time.monotonic() < deadline:
        producer.poll(0.02)
        try:
            producer.produce(topic, value, key, headers=headers)
        except BufferError:
            continue
        return
    raise TooSlow
