"""Published progress: the offsets that a pipeline has processed, in the Kafka group that is named after it.

Spark commits no offsets, so Kafka's own tools would see nothing. Where the batch is written in a transaction on the
source's cluster, the offsets go with it (see `KafkaCommitter.shows`); else they are committed after the outcome. The
group only shows progress: nothing is ever read from it, and what cannot be told now is told at the next poll.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.observe.events import Emit, ProgressNotShown
from penstock.observe.now import Shown
from penstock.ranges import Positions
from penstock.sources.groups import publish

if TYPE_CHECKING:
    from penstock.sinks.kafka.committer import KafkaCommitter
    from penstock.sources.cluster import Cluster

AGAIN_SECONDS = 3600.0
"""An idle pipeline's group is told again so often: the broker forgets the offsets of a group after some days."""

PAUSE_SECONDS = 5.0
"""After a refusal, so long is waited before the next try."""


class Publisher:
    """Keeps one group at the newest positions. Never raises; says once for each outage why it cannot."""

    def __init__(self, pipeline: str, group: str, emit: Emit) -> None:
        self.pipeline, self.group, self.emit = pipeline, group, emit
        self.shown = Shown(group)
        self._wanted: Positions = {}
        self._batch_id: int | None = None
        self._told = True
        self._at = self._not_before = -float("inf")

    def want(self, positions: Positions, batch_id: int | None, clusters: Sequence[KafkaCommitter] = ()) -> None:
        """These are the positions now. A cluster may have shown them already, in its transaction."""
        self._wanted, self._batch_id = positions, batch_id
        if batch_id is not None and any(each.shown == batch_id for each in clusters):
            self._done(in_transaction=True)
        else:
            self._told = False

    def due(self) -> bool:
        now = time.monotonic()
        return bool(self._wanted) and now >= self._not_before and (not self._told or now - self._at >= AGAIN_SECONDS)

    def tell(self, cluster: Cluster, clusters: Sequence[KafkaCommitter] = ()) -> None:
        """Tell the group, if there is anything to tell. What worked is from now on left to the transactions."""
        if not self.due():
            return
        try:
            publish(cluster, self.group, self._wanted)
        except PenstockError as error:
            self._trouble(error)
            return
        self._done(in_transaction=False)
        for each in clusters:
            if each.name == cluster.id:
                each.shows = self.group

    def _done(self, *, in_transaction: bool) -> None:
        self._told, self._at = True, time.monotonic()
        self.shown = Shown(self.group, time.time(), self._batch_id, in_transaction)

    def _trouble(self, error: PenstockError) -> None:
        self._not_before = time.monotonic() + PAUSE_SECONDS
        if not self.shown.trouble:
            cause = " ".join(part for part in (error.what, error.remedy) if part)
            self.emit(ProgressNotShown(pipeline=self.pipeline, group=self.group, cause=cause))
        self.shown = Shown(self.group, self.shown.at, self.shown.batch_id, self.shown.in_transaction, error.what)
