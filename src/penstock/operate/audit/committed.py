"""A consumer that sees what is committed, and nothing else; for the length of a block."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import Unavailable
from penstock.sinks.kafka.client import Client

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message

PATIENCE_SECONDS = 30.0
ANSWER_SECONDS = 10.0
Part = tuple[str, int]
"""Topic and partition."""


@contextmanager
def committed(client: Client) -> Iterator[Committed]:
    """Raises Unavailable, inside the block too, where the brokers do not answer or do not allow it."""
    from confluent_kafka import Consumer, KafkaException

    own = {
        "group.id": "penstock-audit",  # never joined, never committed to
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "auto.offset.reset": "earliest",
        "queued.max.messages.kbytes": 65_536,
    }
    consumer = Consumer({"bootstrap.servers": client.bootstrap, "log_level": 0, **client.settings, **own})
    try:
        yield Committed(consumer, client.bootstrap)
    except KafkaException as error:
        raise Unavailable(f"topics on {client.bootstrap} cannot be read: {error.args[0].str()}") from error
    finally:
        consumer.close()


class Committed:
    """The records of some topics, and where they begin."""

    def __init__(self, consumer: Consumer, bootstrap: str) -> None:
        self.consumer, self.bootstrap = consumer, bootstrap

    def partitions(self, topics: Iterable[str]) -> list[Part]:
        known = self.consumer.list_topics(timeout=ANSWER_SECONDS).topics
        there = [topic for topic in topics if topic in known and known[topic].error is None]
        return [(topic, partition) for topic in there for partition in sorted(known[topic].partitions)]

    def begins(self, part: Part) -> int:
        """The first offset that is still there."""
        from confluent_kafka import TopicPartition

        low, _ = self.consumer.get_watermark_offsets(TopicPartition(*part), timeout=ANSWER_SECONDS)
        return int(low)

    def messages(self, topics: Iterable[str]) -> Iterator[Message]:
        """Every committed record, up to where each partition ends now."""
        from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition

        unread = set(self.partitions(topics))
        self.consumer.assign([TopicPartition(*part, OFFSET_BEGINNING) for part in sorted(unread)])
        deadline = time.monotonic() + PATIENCE_SECONDS
        while unread:
            found = self.consumer.consume(10_000, timeout=0.1)
            if found:
                deadline = time.monotonic() + PATIENCE_SECONDS
            elif time.monotonic() > deadline:
                raise Unavailable(f"topics on {self.bootstrap}: nothing came for {PATIENCE_SECONDS:.0f} s.")
            for message in found:
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard((str(message.topic()), int(message.partition() or 0)))
                else:
                    raise KafkaException(error)
