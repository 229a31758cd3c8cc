"""One attempt at a transaction: fence, check, transact. One producer, used once and dropped, never aborted.

    fence     S0 S1  a new producer takes the transactional id: every earlier attempt is over, and its fate decided
    check     S2     the marker is read now, by the one who holds the id
    produce   S3     records, in the order of the source
    flush     S4     all of them have reached the broker
    marker    S5     the marker moves in the same transaction
    commit    S6     records and marker become visible, together

The order is the proof: a model checker finds a lost or doubled batch wherever two of these change places. A producer
that is used again could have a late commit of its last transaction applied to the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any

from penstock import failpoints
from penstock.errors import Unavailable
from penstock.sinks.kafka.client import Client, Sending, cause_of
from penstock.sinks.kafka.fates import INVISIBLE, UNDECIDED, Fate, Undecided, failure, fate_of
from penstock.sinks.kafka.marker import Marker, Markers, position
from penstock.sinks.kafka.messages import Message
from penstock.sinks.kafka.outbox import TooSlow, flush, send

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

    from penstock.sinks.contract import WriteKey

CALL_SECONDS = 10.0
"""How long one call of the client may take before it is made again."""
GRACE_SECONDS = 20.0
"""How much longer than it said it would take a call may take, before it is taken for lost."""
PAUSE_SECONDS = 0.05
DOING = {
    "fence": "take over from earlier attempts",
    "produce": "send records",
    "flush": "send records",
    "marker": "move the marker",
    "show": "show the progress",
    "commit": "commit the transaction",
}


class Fenced(Exception):
    """Another attempt took the transactional id: this one is over. What the other did with the batch decides."""


class Attempt:
    """A transaction from its beginning to its end. Whatever goes wrong, the next attempt starts anew."""

    def __init__(
        self, client: Client, markers: Markers, sending: Sending, key: WriteKey, limits: Mapping[str, int]
    ) -> None:
        self.markers, self.key, self.seconds = markers, key, sending.timeout_seconds
        self._deadline = time.monotonic() + self.seconds
        self.producer = client.transaction(key.app, sending, limits)

    def fence(self) -> None:
        """End every earlier attempt, and wait until what it did is decided."""
        with self._step("fence"):
            self._until(self.producer.init_transactions)

    def check(self) -> Marker | None:
        with failpoints.around("topics:check"):
            return self.markers.read(self.key.app, self._left())

    def produce(self, messages: Iterable[Message]) -> int:
        """Begin the transaction and send; says how many."""
        self._deadline = time.monotonic() + self.seconds
        with self._step("produce"):
            self.producer.begin_transaction()
            return send(self.producer, messages, self._deadline)

    def flush(self) -> None:
        with self._step("flush"):
            flush(self.producer, self._deadline)

    def mark(self, marker: Marker) -> None:
        with self._step("marker"):
            place, group = [position(marker)], self.markers.group(self.key.app)
            self._until(lambda seconds: self.producer.send_offsets_to_transaction(place, group, seconds))

    def show(self, group: Any, ranges: Iterable[Any]) -> None:
        """Let another group, which shows the progress to people, move in the same transaction."""
        from confluent_kafka import TopicPartition

        places = [TopicPartition(topic, partition, end) for topic, partition, _, end in ranges]
        with self._step("show"):
            self._until(lambda seconds: self.producer.send_offsets_to_transaction(places, group, seconds))

    def commit(self) -> None:
        with self._step("commit"):
            self._until(self.producer.commit_transaction)

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        """A step with its failpoints; an error of the client becomes one of ours, sorted by its fate."""
        from confluent_kafka import KafkaException

        with failpoints.around(f"topics:{name}"):
            try:
                yield
            except TooSlow as error:
                raise self._too_slow(undecided=name == "commit") from error
            except KafkaException as error:
                raise self._ended(name, self._reason(cause_of(error))) from error

    def _reason(self, cause: KafkaError) -> KafkaError:
        """Why the client takes nothing more: the call that met with it says only that it is so."""
        from confluent_kafka import KafkaException

        if cause.name() not in ("_FATAL", "_STATE"):
            return cause
        try:
            self.producer.poll(0)  # raises what was fatal
            self.producer.send_offsets_to_transaction([], self.markers.group(self.key.app), CALL_SECONDS)
        except KafkaException as error:
            return cause_of(error)
        return cause

    def _ended(self, name: str, cause: KafkaError) -> Exception:
        if fate_of(cause) is Fate.FENCED:
            return Fenced()
        undecided = name == "commit" and not cause.txn_requires_abort()
        return failure(self.key, DOING[name], cause, UNDECIDED if undecided else INVISIBLE)

    def _too_slow(self, *, undecided: bool) -> Unavailable:
        kind, data = (Undecided, UNDECIDED) if undecided else (Unavailable, INVISIBLE)
        return kind(
            f"{self.key.pipeline}, topics of cluster {self.key.sink}, batch {self.key.batch_id}: the broker did not "
            f"take all records within {self.seconds:g} seconds.",
            data=data,
            remedy="If this comes again and again, give the sink a longer `timeout`, or the batch fewer rows.",
        )

    def _until(self, call: Callable[[float], object]) -> None:
        """Make this call; again where that helps, while there is time."""
        from confluent_kafka import KafkaException

        while True:
            try:
                self._within(call, min(CALL_SECONDS, self._left()))
            except KafkaException as error:
                if fate_of(cause_of(error)) is not Fate.AGAIN or self._left() <= PAUSE_SECONDS:
                    raise
                time.sleep(PAUSE_SECONDS)
            else:
                return

    def _within(self, call: Callable[[float], object], seconds: float) -> None:
        """Make a call that keeps its time: the client may wait for ever inside (librdkafka issues 5456 and 5511).

        One that does not come back keeps its thread and its producer; neither is used again.
        """
        done: Queue[BaseException | None] = Queue()

        def run() -> None:
            try:
                call(seconds)
                done.put(None)
            except BaseException as error:
                done.put(error)

        threading.Thread(target=run, daemon=True, name="penstock-transaction").start()
        try:
            error = done.get(timeout=seconds + GRACE_SECONDS)
        except Empty:
            raise TooSlow from None
        if error is not None:
            raise error

    def _left(self) -> float:
        return max(PAUSE_SECONDS, self._deadline - time.monotonic())
