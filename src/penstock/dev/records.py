"""Records of a broker: write them, read them back, look at offsets, delete some. For `penstock dev` and for tests."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from penstock.dev.topics import admin
from penstock.errors import PenstockError, Unavailable

Headers = Sequence[tuple[str, bytes | None]]
Bytes = bytes | str | None
_LARGEST = 16 * 1024 * 1024
_PATIENCE_SECONDS = 30
_CAREFUL = {"enable.idempotence": True, "acks": "all", "linger.ms": 5, "message.timeout.ms": 60_000}


@dataclass(frozen=True)
class Record:
    """One record as the broker keeps it."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int


def produce(
    bootstrap: str,
    topic: str,
    values: Iterable[Bytes],
    *,
    keys: Iterable[Bytes] | None = None,
    headers: Headers | None = None,
    partition: int | None = None,
    timestamp_ms: int | None = None,
) -> int:
    """Write one record for each value, in order and exactly once, and return how many when all are acknowledged."""
    fixed: dict[str, Any] = {"headers": list(headers)} if headers is not None else {}
    fixed |= {"partition": partition} if partition is not None else {}
    fixed |= {"timestamp": timestamp_ms} if timestamp_ms is not None else {}
    pairs = ((None, value) for value in values) if keys is None else zip(keys, values, strict=True)
    return produce_pairs(bootstrap, topic, pairs, **fixed)


def produce_pairs(bootstrap: str, topic: str, pairs: Iterable[tuple[Bytes, Bytes]], **fixed: Any) -> int:
    """The same for pairs of key and value; `fixed` goes to every record. What came before an error is written."""
    refused: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: object) -> None:
        if error is not None:
            refused.append(error)

    producer = Producer({**_quiet(bootstrap), **_CAREFUL})
    count = 0
    try:
        for key, value in pairs:
            _send(producer, topic, key=key, value=value, on_delivery=delivered, **fixed)
            count += 1
    except KafkaException as error:
        raise PenstockError(
            f"record {count + 1} for topic {topic} was refused: {error.args[0].str()}.", data=f"{count} were written."
        ) from error
    finally:
        producer.flush()
    if refused:
        raise PenstockError(f"{len(refused)} of {count} records for {topic} were not written: {refused[0].str()}.")
    return count


def read(bootstrap: str, topic: str, isolation: str = "read_committed") -> Iterator[Record]:
    """The records of a topic up to its end, as they arrive: in order within a partition only."""
    consumer = Consumer({
        **_quiet(bootstrap),
        **{"group.id": "penstock-dev", "enable.auto.commit": False, "enable.partition.eof": True},
        **{"isolation.level": isolation, "auto.offset.reset": "earliest", "fetch.message.max.bytes": _LARGEST},
    })  # fmt: skip
    try:
        partitions = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
        yield from _until_the_end(consumer, partitions)
    finally:
        consumer.close()


def read_all(bootstrap: str, topic: str, isolation: str = "read_committed") -> list[Record]:
    """Every record of a topic, by partition and offset."""
    return sorted(read(bootstrap, topic, isolation), key=lambda record: (record.partition, record.offset))


def offsets(bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
    """For each partition, the earliest offset it still holds and the one after its last record."""
    consumer = Consumer({**_quiet(bootstrap), "group.id": "penstock-dev"})
    try:
        partitions = sorted(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        return {at: consumer.get_watermark_offsets(TopicPartition(topic, at), timeout=10) for at in partitions}
    finally:
        consumer.close()


def end_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """The offset after the last record of each partition."""
    return {partition: high for partition, (_, high) in offsets(bootstrap, topic).items()}


def start_offsets(bootstrap: str, topic: str) -> dict[int, int]:
    """The earliest offset that each partition still holds."""
    return {partition: low for partition, (low, _) in offsets(bootstrap, topic).items()}


def delete_records(bootstrap: str, topic: str, before: Mapping[int, int]) -> None:
    """Delete the records below the given offset of each partition, as retention would."""
    client = admin(bootstrap)  # kept until its futures are done: they fail when it goes
    wanted = [TopicPartition(topic, partition, offset) for partition, offset in before.items()]
    for done in client.delete_records(wanted).values():
        done.result(30)


def _until_the_end(consumer: Consumer, unread: set[int]) -> Iterator[Record]:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while unread:
        messages = consumer.consume(1000, timeout=0.05)  # it returns early only when it has all of them
        if messages:
            deadline = time.monotonic() + _PATIENCE_SECONDS
        elif time.monotonic() > deadline:
            raise Unavailable(
                f"the broker gave nothing for {_PATIENCE_SECONDS} s; {len(unread)} partitions are unread."
            )
        for message in messages:
            error = message.error()
            if error is None:
                yield _record(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                unread.discard(message.partition())
            else:
                raise KafkaException(error)


def _record(message: Any) -> Record:
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
        timestamp_ms=message.timestamp()[1],
    )


def _send(producer: Producer, topic: str, **record: Any) -> None:
    """Hand a record over, waiting while the queue is full."""
    while True:
        try:
            producer.produce(topic, **record)
        except BufferError:
            producer.poll(0.1)
        else:
            producer.poll(0)
            return


def _quiet(bootstrap: str) -> dict[str, Any]:
    return {"bootstrap.servers": bootstrap, "log_level": 0, "message.max.bytes": _LARGEST}
