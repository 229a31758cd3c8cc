"""Sending without a transaction, for `delivery: at_least_once`: each record once, unless the process dies."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, Unavailable
from penstock.sinks.kafka.client import Client, Sending, cause_of
from penstock.sinks.kafka.fates import failure
from penstock.sinks.kafka.messages import Message
from penstock.sinks.kafka.outbox import Failure, Outbox

if TYPE_CHECKING:
    from penstock.sinks.contract import WriteKey

PERHAPS = "Some of its rows may be visible; all of them will be sent again, as `at_least_once` says."


def send(
    client: Client, sending: Sending, key: WriteKey, messages: Iterable[Message], limits: Mapping[str, int]
) -> int:
    """Send these, in order, and wait until the broker has them all; says how many."""
    from confluent_kafka import KafkaException

    outbox = Outbox(lambda callbacks: client.sender(sending, limits, callbacks))
    deadline = time.monotonic() + sending.timeout_seconds
    try:
        count = outbox.send(messages, deadline)
        if outbox.flush(deadline) or outbox.failure:
            raise BufferError
    except BufferError as error:
        raise _failed(key, outbox.look()) from error
    except KafkaException as error:
        raise _failed(key, outbox.look() or Failure(cause_of(error))) from error
    return count


def _failed(key: WriteKey, found: Failure | None) -> PenstockError:
    if found is not None:
        return failure(key, "send records to", found.cause, found.topic, PERHAPS)
    return Unavailable(
        f"{key.pipeline}, topics of cluster {key.sink}, batch {key.batch_id}: the broker did not take all records "
        "within the sink's `timeout`.",
        data=PERHAPS,
    )
