"""A payments pipeline in processes of their own, and the oracle that counts what they did."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.dev.oracle import Count, count
from penstock.dev.payments import SCHEMA, payments
from penstock.testing.harness import Case
from penstock.testing.kafka import DevKafka, ensure_topic, up

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevKafka]:
    broker = up(tmp_path_factory.mktemp("kafka"), child=True)
    yield broker
    broker.stop()


class Payments(Case):
    """A pipeline of payments on a topic of its own."""

    bootstrap: str
    topic: str

    def __init__(self, folder: Path, kafka: DevKafka, **settings: Any) -> None:
        self.bootstrap, self.topic = kafka.bootstrap, f"payments-{next(_numbers)}"
        self.codes: dict[bytes | None, str | None] = {}
        self.seed = 0
        ensure_topic(self.bootstrap, self.topic, 4)
        spec = {
            "pipeline": "payments",
            "source": {"kafka": {"brokers": [self.bootstrap], "topics": [self.topic]}},
            "decode": {"json": {"schema": SCHEMA}},
            "sinks": {"lake": {"delta": {"table": "./lake/payments"}}},
            "trigger": "as_fast_as_possible",
            **settings,
        }
        super().__init__(folder, spec)

    def produce(self, events: int, bad_share: float = 0.02) -> None:
        """More events on the topic; the oracle knows what each deserves."""
        from penstock.dev.records import produce_pairs

        self.seed += 1
        made = list(payments(events, seed=self.seed, bad_share=bad_share))
        self.codes |= {event.value: event.code for event in made}
        produce_pairs(self.bootstrap, self.topic, [(event.key, event.value) for event in made])

    def counted(self) -> Count:
        return count(self.bootstrap, [self.topic], self.table(), self.dead_letters, self.codes.__getitem__)


@pytest.fixture
def payments_case(tmp_path: Path, kafka: DevKafka) -> Callable[..., Payments]:
    def make(**settings: Any) -> Payments:
        return Payments(tmp_path, kafka, **settings)

    return make
