"""What is unread, looked at without a trace: the next record of a partition, and how many there are.

Offsets are no count of records: a transaction leaves markers and perhaps records that were aborted, compaction leaves
holes. So where it matters a few records are read from the position on, and what was found is kept: while the position
stays, only what came since is read.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.ranges import Positions
from penstock.sources.looking import unheard
from penstock.unread import Part, Probe

if TYPE_CHECKING:
    from confluent_kafka import Consumer

    from penstock.sources.cluster import Cluster

MOST_PARTITIONS = 64
"""Looked into at one poll."""
MOST_RECORDS = 1_000
"""Counted in one partition; beyond it the number is worked out."""
ALL_AT_ONCE, BESIDE_A_RUN = MOST_PARTITIONS * MOST_RECORDS, 4_000
"""Counted at one poll in all partitions together; less where a run needs the CPU. The next poll goes on from there."""
SECONDS = 2.0
"""How long one look may take at most."""
FETCH_BYTES = 32_768


@dataclass
class Prober:
    """Looks into the partitions of one cluster. Keeps its connection, and what it found while positions stay."""

    cluster: Cluster
    most: int = MOST_PARTITIONS
    records: int = MOST_RECORDS
    at_once: int = ALL_AT_ONCE
    """Records that one look may read, in all partitions together."""
    found: dict[Part, Probe] = field(default_factory=dict)
    _consumer: Consumer | None = None

    def look(self, positions: Positions, ends: Positions, dense: Iterable[Part] = ()) -> Mapping[Part, Probe]:
        """What is known of the unread records of these partitions.

        `dense` are those whose every offset holds a record: of them only the next record is of interest.
        """
        self.found = {part: was for part, was in self.found.items() if positions.get(part) == was.position}
        plain = set(dense)
        wanted = {
            part: self._from(part, at) for part, at in positions.items() if self._unsettled(part, at, ends, plain)
        }
        first = sorted(wanted, key=lambda part: (part in self.found, ends[part] - positions[part]), reverse=True)
        chosen = self._chosen(first, plain)
        if chosen:
            self._read({part: wanted[part] for part in chosen}, ends, plain)
        return self.found

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _from(self, part: Part, position: int) -> int:
        known = self.found.get(part)
        return position if known is None else max(position, known.upto)

    def _unsettled(self, part: Part, position: int, ends: Positions, dense: set[Part]) -> bool:
        if ends.get(part, 0) <= position:
            return False
        known = self.found.get(part)
        if known is None or known.first is None:
            return known is None or known.upto < ends[part]
        return part not in dense and known.upto < ends[part] and known.counted < self.records

    def _chosen(self, wanted: list[Part], dense: set[Part]) -> list[Part]:
        """Some of the sparse ones, where a look tells how many rows there are, and some of those that lag most."""
        sparse = [part for part in wanted if part not in dense]
        return [*sparse[: self.most], *(part for part in wanted if part in dense)][: self.most]

    def _read(self, begin: Positions, ends: Positions, dense: set[Part]) -> None:
        from confluent_kafka import TopicPartition

        consumer = self._consumer = self._consumer or prober(self.cluster)
        consumer.assign([TopicPartition(topic, number, at) for (topic, number), at in begin.items()])
        enough = self._enough(begin)
        left, paused = set(begin), []
        deadline = time.monotonic() + SECONDS
        try:
            while left and time.monotonic() < deadline:
                done = set()
                few = 1 if left <= dense else 500  # of those only the next is wanted: what came with it is dropped
                for message in consumer.consume(few, timeout=0.05):
                    part = (str(message.topic()), int(message.partition() or 0))
                    if part in left and self._took(part, message, begin, ends, dense, enough):
                        left.discard(part)
                        done.add(part)
                if done and left:
                    paused += (full := [TopicPartition(topic, number) for topic, number in done])
                    consumer.pause(full)
        finally:
            if paused:
                consumer.resume(paused)  # it would stay paused when it is assigned again
            consumer.unassign()

    def _enough(self, parts: Iterable[Part]) -> dict[Part, int]:
        """How many records of each partition are to be known when this look ends."""
        before = {part: self.found[part].counted if part in self.found else 0 for part in parts}
        share = max(1, self.at_once // len(before))
        return {part: min(self.records, counted + share) for part, counted in before.items()}

    def _took(
        self, part: Part, message: Any, begin: Positions, ends: Positions, dense: set[Part], enough: dict[Part, int]
    ) -> bool:
        """Take this message into account; says whether the look needs no more of its partition."""
        from confluent_kafka import KafkaError

        known = self.found.get(part) or Probe(begin[part], upto=begin[part])
        if message.error() is not None:
            if message.error().code() != KafkaError._PARTITION_EOF:
                return True
            self.found[part] = replace(known, upto=max(known.upto, int(message.offset())))
            return True
        offset, (kind, at) = int(message.offset()), message.timestamp()
        size = len(message.value() or b"") + len(message.key() or b"")
        if known.first is None:
            known = replace(known, first=offset, timestamp=at / 1000 if kind else None)
        known = replace(known, counted=known.counted + 1, upto=offset + 1, bytes=known.bytes + size)
        self.found[part] = known
        whole = offset == known.position and part in dense
        return whole or known.counted >= enough[part] or known.upto >= ends[part]


def prober(cluster: Cluster) -> Consumer:
    """A consumer for a few records at a time: it fetches little ahead, and tells the end of a partition at once."""
    little = {
        "queued.min.messages": 1,
        "queued.max.messages.kbytes": 8_192,
        "fetch.message.max.bytes": FETCH_BYTES,
        "fetch.wait.max.ms": 50,
        "fetch.queue.backoff.ms": 5,
    }
    return unheard(cluster, "penstock-look", little)
