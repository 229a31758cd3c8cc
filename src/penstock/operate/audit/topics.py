"""Output topics as the audit reads them: the marker as the commit record, and every record by its headers.

Only what is committed counts: a record of a transaction that was given up is not seen, here as by any consumer that
reads committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from penstock.operate.audit.committed import PATIENCE_SECONDS, committed
from penstock.operate.audit.deep import RowReader
from penstock.operate.audit.lineage import Piece
from penstock.sinks.kafka.client import Client
from penstock.sinks.kafka.directory import Directory
from penstock.sinks.kafka.marker import Marker, Markers
from penstock.sinks.kafka.names import MARKERS, OFFSET, PARTITION, PIPELINE, SINK, TOPIC

if TYPE_CHECKING:
    from confluent_kafka import Message

STAGE = "penstock.stage"
ROWS = 50_000
"""Records that are held as Python objects at once."""


class Named(NamedTuple):
    """A sink whose records say that they are its own, because another one may write to the same topics."""

    sink: str
    alone: frozenset[str]
    """Topics in which records that do not say it are its own: they were sent when it was the only one there."""


class TopicReader(Protocol):
    """What the audit asks of a Kafka cluster that a pipeline writes to."""

    cluster: str
    """Its id: part of the pipeline's keys."""

    def marker(self, app: str) -> Marker | None: ...

    def topics(self) -> list[str]:
        """Every topic that may hold output."""
        ...

    def rows(self, topics: Iterable[str], pipeline: str, sink: Named | None = None) -> RowReader: ...

    def cut(self, topics: Iterable[str]) -> str:
        """Why records may rightly be gone from these topics (retention, compaction); empty if they may not."""
        ...


class KafkaTopics:
    """A real cluster. Raises Unavailable where no broker answers."""

    def __init__(self, bootstrap: str, settings: Mapping[str, str] | None = None) -> None:
        self.client = Client(bootstrap, settings or {})
        self.directory = Directory(self.client)
        self.cluster = self.directory.cluster_id
        self._markers = Markers(self.client)

    def marker(self, app: str) -> Marker | None:
        return self._markers.read(app, PATIENCE_SECONDS)

    def topics(self) -> list[str]:
        return sorted(name for name in self.directory.topics() if name != MARKERS)

    def rows(self, topics: Iterable[str], pipeline: str, sink: Named | None = None) -> RowReader:
        return TopicRows(self.client, tuple(topics), pipeline, sink)

    def cut(self, topics: Iterable[str]) -> str:
        names = tuple(topics)
        if _compacted(self.client, names):
            return "the topic is compacted, and older records of a key are removed"
        with committed(self.client) as reader:
            low = {part: reader.begins(part) for part in reader.partitions(names)}
        gone = [f"{topic}-{partition} begins at {at}" for (topic, partition), at in sorted(low.items()) if at > 0]
        return f"records were removed by retention or by hand: {', '.join(gone[:3])}" if gone else ""


@dataclass
class TopicRows:
    """Streams the origin of every committed record of some topics."""

    client: Client
    topics: tuple[str, ...]
    pipeline: str
    sink: Named | None = None
    """Only records of this sink, where others write to the same topics."""
    anonymous: int = 0
    """Records of other writers."""

    def pieces(self, low: int, high: int, *, everything: bool) -> Iterator[Piece]:
        """All records up to the end: a topic cannot be asked for some origins only."""
        self.anonymous = 0
        held: dict[tuple[str, int, str | None], list[int]] = {}
        with committed(self.client) as reader:
            for number, message in enumerate(reader.messages(self.topics), 1):
                self._take(message, held)
                if number % ROWS == 0:
                    yield from _drained(held)
            yield from _drained(held)

    def _take(self, message: Message, held: dict[tuple[str, int, str | None], list[int]]) -> None:
        told: dict[str, Any] = dict(message.headers() or ())  # of two of one name the last is ours
        try:
            if told[PIPELINE].decode() != self.pipeline:
                raise KeyError(PIPELINE)
            if self.sink is not None and self._is_of_another(told, message.topic() or "", self.sink):
                return
            key = told[TOPIC].decode(), int(told[PARTITION]), told[STAGE].decode() if STAGE in told else None
            held.setdefault(key, []).append(int(told[OFFSET]))
        except (KeyError, ValueError, AttributeError, TypeError):
            self.anonymous += 1

    @staticmethod
    def _is_of_another(told: dict[str, Any], topic: str, sink: Named) -> bool:
        return told[SINK].decode() != sink.sink if SINK in told else topic not in sink.alone


def _drained(held: dict[tuple[str, int, str | None], list[int]]) -> Iterator[Piece]:
    for (topic, partition, stage), offsets in held.items():
        yield Piece(topic, partition, np.array(offsets, dtype=np.int64), stage)
    held.clear()


def _compacted(client: Client, topics: tuple[str, ...]) -> bool:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    admin = client.admin()  # kept until it has answered: without it the answers never come
    try:
        answers = [future.result(10) for future in admin.describe_configs(asked, request_timeout=10).values()]
    except (KafkaException, TimeoutError):  # not allowed to look: what is missing is then told as lost
        return False
    return any("compact" in str(settings["cleanup.policy"].value) for settings in answers)
