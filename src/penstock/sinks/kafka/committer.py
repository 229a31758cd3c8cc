"""The half of the sink that runs in the driver: the frozen rows of every topic of a cluster, in one transaction.

A batch is recognised by the marker of its transaction. Replayed any number of times, by any number of processes at
once, it is visible once; killed anywhere, it is visible whole or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock import failpoints
from penstock.errors import PenstockError, Unavailable
from penstock.schemas.contract import Registry
from penstock.sinks.contract import Frozen, Receipt, Target, Undone, WriteKey
from penstock.sinks.kafka import Topic, shares_topics
from penstock.sinks.kafka.attempt import Attempt, Fenced
from penstock.sinks.kafka.changes import Changes
from penstock.sinks.kafka.client import Client, Sending
from penstock.sinks.kafka.columns import check_columns
from penstock.sinks.kafka.directory import Directory
from penstock.sinks.kafka.fates import INVISIBLE
from penstock.sinks.kafka.loose import send_loose
from penstock.sinks.kafka.marker import Marker, Markers
from penstock.sinks.kafka.messages import limits, messages
from penstock.sinks.kafka.names import DEAD_LETTERS
from penstock.sinks.kafka.preflight import Preflight
from penstock.sinks.kafka.registered import Registrar
from penstock.sinks.kafka.target import DeadLetterTarget, KafkaTarget
from penstock.sinks.kafka.verdict import recognised

COMMITTED, RECOGNISED, SENT = "committed", "recognised", "sent"
"""How a receipt says it; `sent` is for a sink that is `at_least_once`."""
ASK_SECONDS = 30.0
"""How long a marker may be undecided before a question for it is given up."""
SETTLE_SECONDS = 15.0
"""How long an attempt that was fenced waits for the one that fenced it."""
LOOK_AGAIN_SECONDS = 0.1
RENEW_SECONDS = 86_400.0
"""How old a marker may get: group offsets expire, by default after seven days."""


class KafkaCommitter:
    """Commits to the topics of one cluster, for one pipeline; kept for the whole run. `name` is the cluster's id."""

    def __init__(
        self,
        bootstrap: str,
        pipeline: str,
        sinks: Mapping[str, Topic],
        dead_letters: str | None = None,
        settings: Mapping[str, str] | None = None,
        registry: Registry | None = None,
    ) -> None:
        """Asks the cluster for its id, and so raises Unavailable if no broker answers.

        `dead_letters` is the dead-letter topic, if it is on this cluster; `settings` are librdkafka's own, for the
        security of the connection, `registry` keeps the schemas of values that have one.
        """
        self.registrar = Registrar(registry)
        self.pipeline, self.options, self.dead_letters = pipeline, dict(sinks), dead_letters
        self.sinks = (*((DEAD_LETTERS,) if dead_letters else ()), *sinks)
        self.sending = Sending.of(self.options)
        self.client = Client(bootstrap, settings or {})
        self.directory = Directory(self.client)
        self.name = self.directory.cluster_id
        self.markers = Markers(self.client)
        self.changes = Changes(self.directory)
        self.shows: str | None = None
        """The Kafka group that shows the pipeline's progress, if its offsets go with the transaction."""
        self.shown: int | None = None
        """The newest batch that was shown so."""
        self._showing = Markers(self.client)

    @property
    def exact(self) -> bool:
        """Is there a transaction? Not where every sink is said to be `at_least_once`."""
        return self.dead_letters is not None or any(sink.exact for sink in self.options.values())

    def ready(self) -> list[str]:
        """Check all that can be checked before the first batch, and make the markers' topic if it is missing.

        Gives warnings; raises Refused with everything that would go wrong later.
        """
        return Preflight(self).check()

    def prepare(self, sink: str, columns: pa.Schema, stage: Path) -> Target:
        """How to freeze the rows of this sink. Its topics and their limits are those of now."""
        if sink == DEAD_LETTERS and self.dead_letters:
            self.directory.must_have(sink, self.dead_letters)
            limit = self.directory.limits([self.dead_letters])[self.dead_letters]
            return DeadLetterTarget(sink, str(stage), self.dead_letters, limit)
        wanted = self.options[sink]
        if wanted.value == "json":
            check_columns(sink, columns)
        if wanted.topic is not None:
            self.directory.must_have(sink, wanted.topic)
        return KafkaTarget(
            sink=sink,
            pipeline=self.pipeline,
            stage=str(stage),
            topic=wanted.topic,
            value=wanted.value,
            key=wanted.key is not None,
            headers=bool(wanted.headers),
            limits=self.directory.limits(None if wanted.topic is None else [wanted.topic]),
            registered=self.registrar.values(sink, wanted, columns) if wanted.has_schema else None,
            named=shares_topics(sink, self.options),
        )

    def verify(self, frozen: Mapping[str, Frozen], key: WriteKey) -> None:
        """Are the frozen rows there, and would the topics still take them? Says nothing if they were sent already."""
        seen = self.watermark(key.app)
        if seen is not None and seen >= key.batch_id:
            return
        self.changes.whole(frozen, key)
        self.changes.welcome(frozen, key)

    def commit(
        self, frozen: Mapping[str, Frozen], key: WriteKey, story: dict[str, Any], known: int | None
    ) -> dict[str, Receipt]:
        """Fence, check, transact: the rows of every sink and the marker of this batch, once. A receipt by sink.

        `known` is the last batch that the ledger says these topics hold, -1 if it says that the marker was begun, None
        if it knows of neither: only then may the marker be missing.
        """
        rows = {sink: share.rows for sink, share in frozen.items()}
        marker = Marker.of(key, rows, story.get("ranges"), story.get("ledger", ""))
        with self.changes.watched(frozen, key):
            if self.exact:
                how = self._transact(frozen, key, marker, known, story.get("ranges") or ())
            else:
                how = self._send_alone(frozen, key, marker, known)
        return {
            sink: Receipt(sink, how if how == RECOGNISED or self._exactly(sink) else SENT, marker.offset, share.rows)
            for sink, share in frozen.items()
        }

    def watermark(self, app: str) -> int | None:
        """The last batch that is there under this application id, or None."""
        marker = self.markers.read(app, ASK_SECONDS)
        return None if marker is None or marker.empty else marker.batch_id

    def has_marker(self, app: str) -> bool:
        """Is there a marker, be it one that was only begun?"""
        return self.markers.read(app, ASK_SECONDS) is not None

    def identity(self) -> dict[str, Any]:
        """Which cluster this is, and the topics that are known by name."""
        topics = {sink: wanted.topic or wanted.topic_from for sink, wanted in self.options.items()}
        dead = {DEAD_LETTERS: self.dead_letters} if self.dead_letters else {}
        return {"committer": "kafka", "target": {**dead, **topics}, "id": self.name}

    def story(self, app: str) -> dict[str, Any] | None:
        """What the marker says of its batch; None if there is no marker, or the generation was closed without one."""
        marker = self.markers.read(app, ASK_SECONDS)
        if marker is None or marker.closed or marker.empty:
            return marker.story.get("last") if marker else None
        return {**marker.story, "batch_id": marker.batch_id}

    def undone(self, app: str) -> list[Undone]:
        """Nothing: what a topic was given stays until its own retention takes it."""
        return []

    def begin(self, key: WriteKey) -> None:
        """Set the marker before the first batch, unless there is one."""
        self._move(key, lambda found: Marker.beginning(key) if found is None else None)

    def fence(self, key: WriteKey) -> None:
        """End every attempt that a crash left over, so that it holds up no reader until it times out."""
        if self.exact:
            self._move(key, lambda found: None)

    def close(self, key: WriteKey) -> None:
        """Let no batch of this key's generation be committed any more: its marker moves to the end.

        Fences first, so that an attempt that is left over can no longer move it back.
        """
        self._move(key, lambda found: None if found and found.closed else Marker.closing(key, found))

    def renew(self, key: WriteKey) -> None:
        """Commit the marker again, as it is: an idle pipeline's would expire."""
        self._move(key, lambda found: None if found is None or found.closed else found.renewed())

    def renewal_due(self, app: str) -> bool:
        """Is the marker old enough to be renewed? Asks the broker: once an hour is often enough."""
        marker = self.markers.read(app, ASK_SECONDS)
        settings = self.directory.broker_settings() or {}
        retention = float(settings.get("offsets.retention.minutes", 7 * 1440)) * 60
        return marker is not None and marker.due(min(RENEW_SECONDS, retention / 4))

    def release(self) -> None:
        """Let go of the connection that is kept for the markers."""
        self.markers.close()
        self._showing.close()

    def _transact(
        self, frozen: Mapping[str, Frozen], key: WriteKey, marker: Marker, known: int | None, ranges: Sequence[Any]
    ) -> str:
        attempt = self._attempt(key, limits(frozen.values()))
        try:
            attempt.fence()
            if recognised(attempt.check(), key, known):
                return RECOGNISED
            self.changes.whole(frozen, key)
            self._send_loose(frozen, key)  # first, so that the marker speaks for them too
            exact = [share for sink, share in frozen.items() if self._exactly(sink)]
            self.changes.complete(exact, attempt.produce(chain.from_iterable(map(messages, exact))), key)
            attempt.flush()
            shown = self._show(attempt, ranges)  # before the marker: if it is refused, nobody waits for that one's fate
            attempt.mark(marker)
            attempt.commit()
        except Fenced:
            return self._settled(key, known)
        self.shown = key.batch_id if shown else None
        return COMMITTED

    def _show(self, attempt: Attempt, ranges: Sequence[Any]) -> bool:
        """Show the progress in this transaction. Where the broker refuses that, the next try does without it."""
        if self.shows is None or not ranges:
            return False
        try:
            attempt.show(self._showing.group(self.shows), ranges)
        except PenstockError:
            self.shows = None
            raise
        return True

    def _send_alone(self, frozen: Mapping[str, Frozen], key: WriteKey, marker: Marker, known: int | None) -> str:
        """Without a transaction: the rows, then the marker. A crash in between sends the rows again."""
        if recognised(self.markers.read(key.app, ASK_SECONDS), key, known):
            return RECOGNISED
        self.changes.whole(frozen, key)
        self._send_loose(frozen, key)
        with failpoints.around("topics:marker"):
            self.markers.put(key.app, marker)
        return COMMITTED

    def _send_loose(self, frozen: Mapping[str, Frozen], key: WriteKey) -> None:
        loose = [share for sink, share in frozen.items() if not self._exactly(sink) and share.rows]
        if loose:
            with failpoints.around("topics:send"):
                rows = chain.from_iterable(map(messages, loose))
                count = send_loose(self.client, self.sending, key, rows, limits(loose))
            self.changes.complete(loose, count, key)

    def _settled(self, key: WriteKey, known: int | None) -> str:
        """Another attempt took over: wait for what it does. If it dies, the next try does the batch."""
        deadline = time.monotonic() + min(SETTLE_SECONDS, self.sending.timeout_seconds)
        while time.monotonic() < deadline:
            marker = self.markers.read(key.app, ASK_SECONDS)
            if marker is not None and marker.offset > key.batch_id and recognised(marker, key, known):
                return RECOGNISED
            time.sleep(LOOK_AGAIN_SECONDS)
        raise Unavailable(
            f"{self.pipeline}, topics of cluster {self.name}, batch {key.batch_id}: another attempt took over, or the "
            "broker ended the transaction because it took too long; the batch is not there yet.",
            data=INVISIBLE,
        )

    def _move(self, key: WriteKey, moved: Callable[[Marker | None], Marker | None]) -> None:
        """Commit a marker without any record; without a transaction, where this pipeline may have none."""
        try:
            self._move_alone(key, moved)
        except Unavailable:
            if self.exact or (marker := moved(self.markers.read(key.app, ASK_SECONDS))) is None:
                raise
            self.markers.put(key.app, marker)

    def _move_alone(self, key: WriteKey, moved: Callable[[Marker | None], Marker | None]) -> None:
        attempt = self._attempt(key, {})
        try:
            attempt.fence()
            marker = moved(attempt.check())
            if marker is not None:
                attempt.produce(())
                attempt.mark(marker)
                attempt.commit()
        except Fenced:
            raise Unavailable(
                f"{self.pipeline}: another process moves the marker of {key.app} at this moment.",
                data="Nothing was changed.",
                remedy="End the process that runs this pipeline, and try again.",
            ) from None

    def _attempt(self, key: WriteKey, sizes: dict[str, int]) -> Attempt:
        return Attempt(self.client, self.markers, self.sending, key, sizes)

    def _exactly(self, sink: str) -> bool:
        return sink == DEAD_LETTERS or self.options[sink].exact
