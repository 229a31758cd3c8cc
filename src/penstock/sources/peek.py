"""A few records of a source, as Spark would hand them over, without Spark and without a trace on the cluster."""

from __future__ import annotations

import json
import time
import uuid
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from penstock.ranges import Positions
from penstock.rows import SOURCE
from penstock.sources.kafka import Cluster

SECONDS = 20.0
"""How long to wait for records at most."""


def peek(
    cluster: Cluster, partitions: Iterable[tuple[str, int]], count: int, start: Positions | None = None
) -> pa.RecordBatch:
    """The newest records of these partitions, `count` at most in all; or the first ones from `start` on."""
    wanted = sorted(partitions)
    low, high = cluster.earliest(wanted), cluster.latest(wanted)
    each = -(-count // max(1, sum(high[part] > low[part] for part in wanted)))
    begin = {
        part: max(low[part], high[part] - each if start is None else start.get(part, low[part])) for part in wanted
    }
    found = list(_read(cluster, {part: at for part, at in begin.items() if at < high[part]}, high, each))
    found.sort(key=lambda row: (row["topic"], row["partition"], row["offset"]))
    return pa.RecordBatch.from_pylist(found[:count], SOURCE)


def _read(cluster: Cluster, begin: Positions, high: Positions, each: int) -> Iterator[dict[str, Any]]:
    from confluent_kafka import Consumer, TopicPartition

    left = dict.fromkeys(begin, each)
    level = "read_committed" if cluster.isolation == "committed" else "read_uncommitted"
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": f"penstock-peek-{uuid.uuid4().hex[:8]}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": level,
            "log_level": 0,
        }
    )
    try:
        consumer.assign([TopicPartition(topic, number, at) for (topic, number), at in begin.items()])
        deadline = time.monotonic() + SECONDS
        while left and time.monotonic() < deadline:
            message = consumer.poll(0.2)
            if message is None:
                continue
            part = (str(message.topic()), int(message.partition() or 0))
            if message.error() is not None:
                left.pop(part, None)  # the end of the partition
                continue
            if part in left:
                yield _row(message)
                left[part] -= 1
            if left.get(part) == 0 or int(message.offset() or 0) >= high[part] - 1:
                left.pop(part, None)
    finally:
        consumer.close()


def _row(message: Any) -> dict[str, Any]:
    kind, at = message.timestamp()
    return {
        "key": message.key(),
        "value": message.value(),
        "topic": message.topic(),
        "partition": message.partition(),
        "offset": message.offset(),
        "timestamp": at * 1000,
        "timestamp_type": kind - 1,
        "headers": _headers(message.headers()),
    }


def _headers(headers: list[tuple[str, bytes | None]] | None) -> str | None:
    """As the source's rows have them: JSON text, null where there are none."""
    if not headers:
        return None
    return json.dumps(
        [{"key": key} | ({} if value is None else {"value": b64encode(value).decode()}) for key, value in headers]
    )
