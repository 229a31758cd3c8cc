"""An idle pipeline's markers, committed again before the broker forgets them: group offsets expire after some days."""

from __future__ import annotations

import time

from penstock.errors import Unavailable
from penstock.observe.events import Emit, Warned
from penstock.plan import Plan
from penstock.sinks.contract import WriteKey
from penstock.sinks.kafka.committer import KafkaCommitter

LOOK_EVERY_SECONDS = 3600.0


class Renewal:
    """Looks once an hour while no batch is in hand. What cannot be done now is tried an hour later."""

    def __init__(self, plan: Plan, emit: Emit) -> None:
        self.plan, self.emit = plan, emit
        self._looked = time.monotonic()

    def tend(self) -> None:
        if time.monotonic() - self._looked >= LOOK_EVERY_SECONDS:
            self._looked = time.monotonic()
            self.renew()

    def renew(self) -> None:
        """Commit again every marker that is old enough for it."""
        ledger = self.plan.ledger
        for cluster in self.plan.topics:
            key = WriteKey(ledger.pipeline, ledger.generation, cluster.name, 0, "")
            try:
                if isinstance(cluster, KafkaCommitter) and cluster.renewal_due(key.app):
                    cluster.renew(key)
            except Unavailable as error:
                self.emit(Warned(pipeline=ledger.pipeline, text=f"a marker could not be renewed: {error.what}"))
