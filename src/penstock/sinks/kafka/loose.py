"""Sending without a transaction, for `delivery: at_least_once`: in order, and each record once or more."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.errors import PenstockError, Unavailable
from penstock.sinks.kafka.client import Client, Sending, cause_of
from penstock.sinks.kafka.fates import failure
from penstock.sinks.kafka.messages import Message
from penstock.sinks.kafka.outbox import TooSlow, flush, send

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from penstock.sinks.contract import WriteKey

PERHAPS = "Some of its rows may be visible; all of them will be sent again, as `at_least_once` says."


def send_loose(
    client: Client, sending: Sending, key: WriteKey, messages: Iterable[Message], limits: Mapping[str, int]
) -> int:
    """Send these, in order, and wait until the broker has them all; says how many."""
    from confluent_kafka import KafkaException

    failed: list[tuple[KafkaError, str]] = []

    def not_delivered(error: KafkaError, message: Any) -> None:
        failed.append((error, message.topic()))

    producer = client.sender(sending, limits, not_delivered)
    deadline = time.monotonic() + sending.timeout_seconds
    try:
        count = send(producer, messages, deadline)
        flush(producer, deadline)
    except TooSlow as error:
        raise _too_slow(key, sending) from error
    except KafkaException as error:
        raise failure(key, "send records", cause_of(error), PERHAPS) from error
    if failed:
        cause, topic = failed[0]
        raise failure(key, f"send {len(failed)} of {count} records", cause, PERHAPS, topic)
    return count


def _too_slow(key: WriteKey, sending: Sending) -> PenstockError:
    return Unavailable(
        f"{key.pipeline}, topics of cluster {key.sink}, batch {key.batch_id}: the broker did not take all records "
        f"within {sending.timeout_seconds:g} seconds.",
        data=PERHAPS,
    )
