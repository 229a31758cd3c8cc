"""A real Kafka for the whole run, and a topic of its own for each test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.dev.kafka import down
from penstock.testing.kafka import DevKafka, ensure_topic, up

if TYPE_CHECKING:
    from tests.broker.doctor_kit import Broker, Make


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevKafka]:
    """A broker that ends with the test run, however that ends."""
    broker = up(tmp_path_factory.mktemp("kafka"), child=True)
    yield broker
    broker.stop()
    assert broker.pid is None


_numbers = itertools.count(1)


@pytest.fixture
def topic(kafka: DevKafka) -> Callable[..., str]:
    """Makes topics: topic("orders", partitions=12, **{"retention.bytes": "1000"}) gives a name not used before."""

    def make(name_hint: str = "t", partitions: int = 4, **config: str) -> str:
        name = f"{name_hint}-{next(_numbers)}"
        assert ensure_topic(kafka.bootstrap, name, partitions, config)
        return name

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a broker of the test's own; its name holds what trips up property files and shells."""
    place = tmp_path / "my, 'own' folder"
    place.mkdir()
    yield place
    down(place)


@pytest.fixture
def broker(kafka: DevKafka) -> Broker:
    """The same Kafka, as tests of the doctor make topics on it."""
    from tests.broker.doctor_kit import Broker

    return Broker(kafka)


@pytest.fixture
def make(kafka: DevKafka, tmp_path: Path) -> Make:
    """Makes a pipeline to be harmed, on a topic of its own."""
    from tests.broker.doctor_kit import maker

    return maker(kafka, tmp_path)
