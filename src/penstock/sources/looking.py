"""Records of a cluster, looked at without a trace: partitions are assigned, nothing is subscribed or committed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.brokers import quiet_log

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from penstock.sources.cluster import Cluster


def looker(cluster: Cluster) -> Consumer:
    """A consumer of which the cluster never hears as a group. What it may see is the cluster's `isolation`."""
    return unheard(cluster, f"penstock-look-{uuid.uuid4().hex}", {"queued.max.messages.kbytes": 16_384})


def unheard(cluster: Cluster, group: str, settings: dict[str, Any]) -> Consumer:
    """A consumer that commits nothing, begins where a partition begins, and tells its end; with these settings too."""
    from confluent_kafka import Consumer

    every = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed" if cluster.isolation == "committed" else "read_uncommitted",
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": False,
        "log_level": 0,
    }
    return Consumer({**every, **settings}, logger=quiet_log())


def messages(consumer: Consumer) -> Iterator[tuple[tuple[str, int], Any]]:
    """What has come: partition and message, or None for the message at the end of a partition."""
    from confluent_kafka import KafkaError

    for message in consumer.consume(500, timeout=0.2):
        error: Any = message.error()
        part = (str(message.topic()), int(message.partition() or 0))
        if error is None:
            yield part, message
        elif error.code() == KafkaError._PARTITION_EOF:
            yield part, None
