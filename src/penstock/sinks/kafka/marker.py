"""The marker: how far a pipeline is on a cluster. A group offset, moved in the same transaction as the records.

Marker N+1 means that batch N is there; 0, that none is yet: it is set before the first batch, so that a marker that is
missing later is known to be lost. It is read only when it is decided, never while a transaction that would move
it is open; and it goes from N to N+1, or to its end when the generation is closed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.errors import Unavailable
from penstock.sinks.contract import CLOSED, told_in
from penstock.sinks.kafka.client import Client, cause_of
from penstock.sinks.kafka.fates import Fate, fate_of, permission
from penstock.sinks.kafka.names import MARKERS, SHARD

if TYPE_CHECKING:
    from confluent_kafka import Consumer, TopicPartition

    from penstock.sinks.contract import WriteKey

STORY_BYTES = 1_000
"""Most bytes that a marker says of its batch; the broker's own limit is 4,095."""
LOOK_SECONDS = 5.0
"""How long one look may take before the next."""


@dataclass(frozen=True)
class Marker:
    """A group offset and what is written beside it."""

    offset: int
    story: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, key: WriteKey, rows: dict[str, int], ranges: list[Any] | None = None, ledger: str = "") -> Marker:
        """The marker of a batch. It says as much of it as there is room for; where it ends before where it began."""
        story = {"v": 1, "pipeline": key.pipeline, "gen": key.generation, "batch": key.batch_id, "digest": key.digest}
        story |= {"rows": sum(rows.values()), "at": int(time.time())}
        for more in ({"ledger": ledger}, {"sinks": rows}, {"ranges": ranges}, {"ends": _ends(ranges)}):
            if "ranges" not in story and len(_written({**story, **more})) <= STORY_BYTES:
                story |= more
        return cls(key.batch_id + 1, story)

    @classmethod
    def beginning(cls, key: WriteKey) -> Marker:
        """Before the first batch."""
        return cls(0, {"v": 1, "pipeline": key.pipeline, "gen": key.generation, "at": int(time.time())})

    @classmethod
    def closing(cls, key: WriteKey, last: Marker | None = None) -> Marker:
        """The end of a generation; it keeps what its last batch said."""
        story = {"v": 1, "pipeline": key.pipeline, "gen": key.generation, "closed": True}
        done = last is not None and not last.empty
        return cls(CLOSED, {**story, "last": {**last.story, "batch_id": last.batch_id}} if last and done else story)

    def renewed(self) -> Marker:
        """The same marker, said again now."""
        return Marker(self.offset, {**self.story, "at": int(time.time())})

    def due(self, seconds: float) -> bool:
        """Was it last said so long ago? Yes, where it does not say when."""
        return time.time() - float(self.story.get("at", 0)) >= seconds

    @property
    def batch_id(self) -> int:
        """The last batch that is there."""
        return self.offset if self.offset == CLOSED else self.offset - 1

    @property
    def empty(self) -> bool:
        """Is no batch there yet?"""
        return self.offset == 0

    @property
    def closed(self) -> bool:
        return self.offset == CLOSED

    def written(self) -> str:
        return _written(self.story)


def _ends(ranges: Iterable[Any] | None) -> dict[str, dict[str, int]]:
    """Where each partition goes on: less than the ranges, and enough to go on from."""
    ends: dict[str, dict[str, int]] = {}
    for topic, partition, _, end in ranges or ():
        ends.setdefault(topic, {})[str(partition)] = end
    return ends


def _written(story: dict[str, Any]) -> str:
    return json.dumps(story, separators=(",", ":"))


class Markers:
    """Reads markers, and says how to write one."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._group = ""
        self._consumer: Consumer | None = None

    def read(self, app: str, seconds: float) -> Marker | None:
        """The marker of this application, or None. Waits while a transaction that would move it is undecided."""
        from confluent_kafka import KafkaException, TopicPartition

        deadline = time.monotonic() + seconds
        while True:
            left = max(0.1, deadline - time.monotonic())
            try:
                [found] = self._of(app).committed([TopicPartition(MARKERS, SHARD)], timeout=min(left, LOOK_SECONDS))
                if found.error is None:
                    return None if found.offset < 0 else Marker(found.offset, told_in(found.metadata))
                raise KafkaException(found.error)
            except KafkaException as error:
                if fate_of(cause_of(error)) is not Fate.AGAIN or time.monotonic() >= deadline:
                    raise self._unreadable(app, error) from error

    def group(self, app: str) -> Any:
        """Whose the marker is, as a transaction asks for it."""
        return self._of(app).consumer_group_metadata()

    def put(self, app: str, marker: Marker) -> None:
        """Move the marker outside any transaction: for sinks that need none."""
        from confluent_kafka import KafkaException

        try:
            [done] = self._of(app).commit(offsets=[position(marker)], asynchronous=False)
            if done.error is not None:
                raise KafkaException(done.error)
        except KafkaException as error:
            raise self._unreadable(app, error) from error

    def close(self) -> None:
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _of(self, app: str) -> Consumer:
        """The consumer of this group; kept, because a connection costs more than the question."""
        if self._consumer is None or self._group != app:
            self.close()
            self._group, self._consumer = app, self.client.consumer(app)
        return self._consumer

    def _unreadable(self, app: str, error: Exception) -> Unavailable:
        cause = cause_of(error)
        forbidden = fate_of(cause) is Fate.FORBIDDEN
        self.close()  # the next try starts with a connection of its own
        return Unavailable(
            f"topics on {self.client.bootstrap}: the marker of {app} can be neither read nor moved: {cause.str()}.",
            data="Nothing was written.",
            remedy=f"Grant what is missing:  {permission(cause, app)}" if forbidden else "",
        )


def position(marker: Marker) -> TopicPartition:
    """The marker as an offset of its group."""
    from confluent_kafka import TopicPartition

    return TopicPartition(MARKERS, SHARD, marker.offset, metadata=marker.written())
