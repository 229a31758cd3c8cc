"""Sampling a topic: the newest records of every partition, within bounds, and without a trace on the cluster."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.authoring.sample import Sample, Taken
from penstock.authoring.words import size_in_words
from penstock.counting import counted
from penstock.errors import Unavailable
from penstock.sources.cluster import Cluster
from penstock.sources.looking import looker, messages

if TYPE_CHECKING:
    from confluent_kafka import Consumer

MOST_BYTES = 16_000_000
MOST_SECONDS = 20.0
LOOKS = 3
"""How often to reach further back where offsets hold no records: compaction and transactions leave gaps."""
FURTHER = 16

Progress = Callable[[int], None]
"""Told how many records there are so far."""


@dataclass(frozen=True)
class Bounds:
    """How much to take."""

    records: int = 1000
    size: int = MOST_BYTES
    seconds: float = MOST_SECONDS


@dataclass
class Part:
    """One partition: what to read of it and what was read."""

    low: int
    high: int
    wanted: int
    size: int
    """Bytes to keep."""
    found: deque[tuple[int, bytes | None]] = field(default_factory=deque)
    held: int = 0
    done: bool = False
    cut: bool = False
    """Records were let go for their size."""

    def take(self, offset: int, value: bytes | None) -> None:
        """Keep the newest, within the number and the bytes wanted; one record at least."""
        self.found.append((offset, value))
        self.held += len(value or b"")
        while len(self.found) > 1 and (len(self.found) > self.wanted or self.held > self.size):
            self.cut = self.cut or len(self.found) <= self.wanted
            self.held -= len(self.found.popleft()[1] or b"")
        self.done = self.done or offset >= self.high - 1


def shares(held: Mapping[int, int], records: int) -> dict[int, int]:
    """How many records to take of each partition: spread evenly, what one has not is taken from the others."""
    wanted = dict.fromkeys(held, 0)
    left, open_parts = records, {part for part, count in held.items() if count > 0}
    while left > 0 and open_parts:
        each = max(1, left // len(open_parts))
        for part in sorted(open_parts):
            more = min(each, held[part] - wanted[part], left)
            wanted[part] += more
            left -= more
        open_parts = {part for part in open_parts if wanted[part] < held[part]}
    return wanted


def sample_topic(cluster: Cluster, topic: str, bounds: Bounds, progress: Progress = lambda _: None) -> Sample:
    """The newest records of the topic, spread over its partitions. An empty topic gives an empty sample at once."""
    names = [(topic, number) for number in cluster.partitions()[topic]]
    low, high = cluster.earliest(names), cluster.latest(names)
    held = {number: max(0, high[topic, number] - low[topic, number]) for _, number in names}
    wanted = shares(held, bounds.records)
    size = bounds.size // max(1, sum(count > 0 for count in wanted.values()))
    parts = {
        number: Part(low[topic, number], high[topic, number], count, size) for number, count in wanted.items() if count
    }
    late = _read(cluster, topic, parts, bounds.seconds, progress) if parts else False
    records = [
        Taken(f"partition {number} offset {offset}", value)
        for number, part in sorted(parts.items())
        for offset, value in part.found
    ]
    if late and not records:
        raise _nothing_came(cluster, topic, bounds.seconds)
    how = f"the newest {counted(len(records), 'record')} of about {sum(held.values()):,} in {_partitions(len(names))}"
    return Sample(records, f"topic {topic} at {cluster.bootstrap}", how, _remarks(parts, late, bounds))


def _read(cluster: Cluster, topic: str, parts: dict[int, Part], seconds: float, progress: Progress) -> bool:
    """Fill the parts; true if time ran out. Where a look back finds too few, the next one goes further."""
    deadline = time.monotonic() + seconds
    consumer = looker(cluster)
    try:
        for look in range(LOOKS):
            poor = {number: part for number, part in parts.items() if _is_poor(part, look)}
            for part in poor.values():
                part.found.clear()
                part.held, part.done = 0, False
            if poor and not _fill(consumer, topic, poor, FURTHER**look, deadline, progress, parts):
                return True
    finally:
        consumer.close()
    return False


def _is_poor(part: Part, look: int) -> bool:
    """Fewer than half of what was wanted, and the look before did not reach the first record."""
    reached = look > 0 and _start(part, FURTHER ** (look - 1)) == part.low
    return not look or (len(part.found) * 2 < part.wanted and not part.cut and not reached)


def _start(part: Part, times: int) -> int:
    return max(part.low, part.high - part.wanted * times)


def _fill(
    consumer: Consumer,
    topic: str,
    poor: dict[int, Part],
    times: int,
    deadline: float,
    progress: Progress,
    every: dict[int, Part],
) -> bool:
    """Read these parts up to where they ended when we came; false if time ran out."""
    from confluent_kafka import TopicPartition

    consumer.assign([TopicPartition(topic, number, _start(part, times)) for number, part in poor.items()])
    while not all(part.done for part in poor.values()):
        if time.monotonic() > deadline:
            return False
        for (_, number), message in messages(consumer):
            if message is None or message.offset() >= poor[number].high:
                poor[number].done = True
            else:
                poor[number].take(message.offset(), message.value())
        progress(sum(len(part.found) for part in every.values()))
    return True


def _partitions(count: int) -> str:
    return counted(count, "partition")


def _remarks(parts: dict[int, Part], late: bool, bounds: Bounds) -> tuple[str, ...]:
    told = []
    if late:
        told.append(f"Reading stopped after {bounds.seconds:.0f} seconds.")
    if any(part.cut for part in parts.values()):
        told.append(f"The records are large: only the newest {size_in_words(bounds.size)} were looked at.")
    return tuple(told)


def _nothing_came(cluster: Cluster, topic: str, seconds: float) -> Unavailable:
    return Unavailable(
        f"init: topic {topic} at {cluster.bootstrap} holds records, but none arrived within {seconds:.0f} seconds.",
        data="No file was written.",
        remedy="Check that the addresses which the brokers advertise can be reached from here, and try again.",
    )
