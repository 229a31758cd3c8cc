"""What tests of the doctor share: topics and pipelines, a look at one, records that flow, how soon an alert came."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from confluent_kafka import Producer

from penstock.observe import now as present
from penstock.observe.events import AlertRaised, LagMeasured
from penstock.operate.doctor import Finding, Report, diagnose
from penstock.operate.doctor.admission import of_pipeline
from penstock.spec import load_pipeline
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, ensure_topic
from penstock.testing.meanwhile import meanwhile
from penstock.testing.runs import Told
from tests.broker.cases import ids_case, values

POLL = {"poll": "500 milliseconds"}
_numbers = itertools.count(1)
Make = Callable[..., Case]


@dataclass(frozen=True)
class Broker:
    """A broker that makes topics with names not used before."""

    kafka: DevKafka

    @property
    def bootstrap(self) -> str:
        return self.kafka.bootstrap

    def topic(self, partitions: int = 1, **config: str) -> str:
        name = f"ill-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        assert ensure_topic(self.bootstrap, name, partitions, settings)
        return name


def case_of(folder: Path, broker: Broker, topic: str, **settings: Any) -> Case:
    return ids_case(folder, broker.bootstrap, topic, pipeline=f"p-{topic}", **settings)


def maker(kafka: DevKafka, folder: Path) -> Make:
    """Makes a pipeline on a topic of its own, and the topic `out-NAME`."""

    def made(partitions: int = 4, config: dict[str, str] | None = None, **settings: Any) -> Case:
        name = f"run-{next(_numbers)}"
        ensure_topic(kafka.bootstrap, name, partitions, config or {})
        ensure_topic(kafka.bootstrap, f"out-{name}", 1)
        return ids_case(folder, kafka.bootstrap, name, pipeline=name, **{"observe": POLL, **settings})

    return made


def topic_of(case: Case) -> str:
    return str(case.spec["pipeline"])


def stepped(case: Case, code: str, function: str) -> Case:
    """The case with a Python step of this code."""
    module = f"step_{case.spec['pipeline'].replace('-', '_')}"
    (case.folder / f"{module}.py").write_text(code)
    case.spec["steps"] = [{"python": f"{module}:{function}"}]
    case.write()
    return case


def report(case: Case, **changes: Any) -> Report:
    return diagnose(replace(of_pipeline(load_pipeline(case.file), case.file.name), **changes))


def first(found: Report) -> Finding:
    assert found.findings, found.unseen
    return found.findings[0]


def codes(found: Report) -> list[str]:
    return [each.code for each in found.findings]


def spread(bootstrap: str, topic: str, partitions: int, rows: int) -> None:
    """So many records to each partition."""
    _send(Producer({"bootstrap.servers": bootstrap, "linger.ms": 5}), topic, partitions, rows)


def _send(producer: Producer, topic: str, partitions: int, rows: int) -> None:
    for value in values(0, rows):
        for partition in range(partitions):
            producer.produce(topic, value, partition=partition)
    assert producer.flush(30) == 0


@contextmanager
def flowing(bootstrap: str, topic: str, partitions: int, rows: int, every: float = 0.2) -> Iterator[None]:
    """So many records come to each partition, again and again, while the block runs."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    with meanwhile(lambda _: _send(producer, topic, partitions, rows), lambda: every):
        yield


def alerted(told: Told, name: str) -> AlertRaised:
    """The alert of this name, once it is raised."""

    def look() -> list[AlertRaised]:
        if told.error is not None:
            raise told.error
        return [event for event in told.of(AlertRaised) if event.alert == name]

    found: list[AlertRaised] = wait_until(look, f"the alert {name} is raised")
    return found[0]


def polls_before(told: Told, name: str, since: float) -> int:
    """How many times the lag was measured after this moment, up to the alert."""
    place = told.events.index(alerted(told, name))
    measured = [event.lag.at for event in told.events[:place] if isinstance(event, LagMeasured)]
    return sum(at > since for at in measured)


def since_of(case: Case) -> float:
    """Since when the run waits, as it tells."""
    return float(wait_until(lambda: getattr(present.read(case.state), "waiting_since", None), "that it waits is told"))
