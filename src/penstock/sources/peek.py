"""A few records of a source, as Spark would hand them over, without Spark and without a trace on the cluster."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from penstock.ranges import Positions
from penstock.rows import SOURCE
from penstock.sources.cluster import Cluster
from penstock.sources.looking import looker, messages

SECONDS = 20.0
"""How long to wait for records at most."""


def peek(cluster: Cluster, partitions: Iterable[tuple[str, int]], count: int) -> pa.RecordBatch:
    """The newest records of these partitions, `count` at most in all."""
    wanted = sorted(partitions)
    low, high = cluster.earliest(wanted), cluster.latest(wanted)
    each = -(-count // max(1, sum(high[part] > low[part] for part in wanted)))
    begin = {part: max(low[part], high[part] - each) for part in wanted if low[part] < high[part]}
    found = list(_read(cluster, begin, high, each))
    found.sort(key=lambda row: (row["topic"], row["partition"], row["offset"]))
    return pa.RecordBatch.from_pylist(found[:count], SOURCE)


def _read(cluster: Cluster, begin: Positions, high: Positions, each: int) -> Iterator[dict[str, Any]]:
    from confluent_kafka import TopicPartition

    left = dict.fromkeys(begin, each)
    consumer = looker(cluster)
    try:
        consumer.assign([TopicPartition(topic, number, at) for (topic, number), at in begin.items()])
        deadline = time.monotonic() + SECONDS
        while left and time.monotonic() < deadline:
            for part, message in messages(consumer):
                if message is not None and part in left:
                    yield _row(message)
                    left[part] -= 1
                if message is None or left.get(part) == 0 or message.offset() >= high[part] - 1:
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
