"""A small shop that writes to topics: batches of plain rows, frozen and committed as `batch.py` would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaException, TopicPartition

from penstock.rows import LINEAGE
from penstock.sinks.contract import Frozen, Misfit, Receipt, WriteKey
from penstock.sinks.kafka import Topic
from penstock.sinks.kafka.committer import KafkaCommitter
from penstock.testing.harness import wait_until
from penstock.testing.kafka import end_offsets

COLUMNS = pa.schema([pa.field("id", pa.int64())])
Shares = dict[str, Frozen]


def rows(ids: range, **extra: pa.Array) -> pa.RecordBatch:
    """One column `id`, which is the offset too; and what the sink's expressions gave."""
    count = len(ids)
    arrays = {
        "id": pa.array(ids, pa.int64()),
        "_topic": pa.repeat("orders", count),
        "_partition": pa.repeat(pa.scalar(0, pa.int32()), count),
        "_offset": pa.array(ids, pa.int64()),
        "_timestamp": pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * count, LINEAGE.field("_timestamp").type),
        **extra,
    }
    return pa.RecordBatch.from_pydict(arrays)


@dataclass(frozen=True)
class Shop:
    """A pipeline of its own, with Kafka sinks on one cluster. Small, and goes through JSON to another process."""

    bootstrap: str
    stage: str
    sinks: dict[str, dict[str, Any]]
    dead_letters: str | None = None
    pipeline: str = field(default_factory=lambda: f"shop-{uuid.uuid4().hex[:8]}")

    def committer(self) -> KafkaCommitter:
        options = {name: Topic.model_validate(settings) for name, settings in self.sinks.items()}
        return KafkaCommitter(self.bootstrap, self.pipeline, options, self.dead_letters)

    def ready(self) -> KafkaCommitter:
        made = self.committer()
        assert made.ready() == []
        return made


def key(committer: KafkaCommitter, batch_id: int, digest: str | None = None, generation: int = 1) -> WriteKey:
    return WriteKey(committer.pipeline, generation, committer.name, batch_id, digest or f"digest-{batch_id}")


def freeze(
    committer: KafkaCommitter, stage: Path | str, batches: dict[str, pa.RecordBatch], columns: pa.Schema = COLUMNS
) -> tuple[Shares, dict[str, list[Misfit]]]:
    """The shares of these sinks, after a trip through JSON, and what did not fit."""
    shares, misfits = {}, {}
    for sink, batch in batches.items():
        target = committer.prepare(sink, columns, Path(stage))
        writer = target.writer(uuid.uuid4().hex[:6])
        misfits[sink] = writer.write(batch)
        shares[sink] = Frozen.from_json(
            json.loads(json.dumps(Frozen(target.to_json(), tuple(writer.close())).to_json()))
        )
    return shares, misfits


def share_of(committer: KafkaCommitter, shop: Shop, ids: range, sink: str = "alerts") -> Shares:
    shares, misfits = freeze(committer, shop.stage, {sink: rows(ids)})
    assert misfits == {sink: []}
    return shares


def write(committer: KafkaCommitter, shop: Shop, batch_id: int, ids: range) -> Receipt:
    """Freeze and commit one batch of the sink `alerts`."""
    shares = share_of(committer, shop, ids)
    return committer.commit(shares, key(committer, batch_id), {}, batch_id - 1 if batch_id else None)["alerts"]


def child(shop: Shop, shares: Shares, batch_id: int, failpoint: str = "") -> subprocess.Popen[str]:
    """Another process that commits this batch."""
    order = {
        "shop": shop.__dict__,
        "shares": {name: share.to_json() for name, share in shares.items()},
        "batch_id": batch_id,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.broker.kafka_sink_child", json.dumps(order)],
        env={**os.environ, "PENSTOCK_FAILPOINT": failpoint},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


class Witness:
    """A consumer that reads committed records all the time, in a thread of its own."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap, self.topic = bootstrap, topic
        self.seen: list[tuple[int, int, bytes | None]] = []
        self.problem: Exception | None = None
        self._done = threading.Event()
        self._positions: dict[int, int] = {}
        self._thread = threading.Thread(target=self._read, daemon=True)

    @property
    def ids(self) -> Counter[int]:
        """How often each id was seen."""
        return Counter(json.loads(value or b"{}")["id"] for _, _, value in self.seen)

    def catch_up(self) -> None:
        """Wait until everything that is in the topic now was looked at."""
        ends = end_offsets(self.bootstrap, self.topic)
        wait_until(
            lambda: self.problem or all(self._positions.get(part, 0) >= end for part, end in ends.items()),
            "the reader came to the end: no transaction was left open",
            60,
        )
        assert self.problem is None

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap, "group.id": "witness", "isolation.level": "read_committed",
                "enable.auto.commit": False, "auto.offset.reset": "earliest", "log_level": 0,
            }
        )  # fmt: skip
        parts = sorted(consumer.list_topics(self.topic, timeout=10).topics[self.topic].partitions)
        consumer.assign([TopicPartition(self.topic, part, 0) for part in parts])
        try:
            while not self._done.is_set():
                for message in consumer.consume(500, timeout=0.1):
                    if message.error():
                        raise KafkaException(message.error())
                    self.seen.append((message.partition() or 0, message.offset() or 0, message.value()))
                for place in consumer.position([TopicPartition(self.topic, part) for part in parts]):
                    self._positions[place.partition] = max(0, place.offset)
        except KafkaException as error:
            self.problem = error
        finally:
            consumer.close()


@contextmanager
def witness(bootstrap: str, topic: str) -> Iterator[Witness]:
    made = Witness(bootstrap, topic)
    made._thread.start()
    try:
        yield made
    finally:
        made._done.set()
        made._thread.join(30)
