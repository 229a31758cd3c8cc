"""A pipeline into two tables, two topics and dead letters, and the oracle that counts all five of them.

Everything is derived from the source topic as it is read back: each record deserves a place in certain sinks, and must
be there once. Readers may run beside it: what a reader saw once must never have been taken back.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from penstock.dev.oracle import Name, rows
from penstock.dev.payments import SCHEMA, payments
from penstock.dev.records import Record, produce_pairs, read
from penstock.dev.topics import ensure_topic
from penstock.testing.harness import Case, wait_until

BIG = 4000
"""Payments above this amount go to the second table and the second topic too."""


@dataclass(frozen=True)
class Verdict:
    """What the oracle found, by sink."""

    read: int
    lost: dict[str, list[Name]]
    doubled: dict[str, list[Name]]

    @property
    def exact(self) -> bool:
        return not any(self.lost.values()) and not any(self.doubled.values())

    def __str__(self) -> str:
        lost, doubled = (sum(map(len, found.values())) for found in (self.lost, self.doubled))
        where = {name: names[:3] for found in (self.lost, self.doubled) for name, names in found.items() if names}
        return f"{self.read} read, lost {lost}, doubled {doubled} {where or ''}"


class Shop(Case):
    """Payments into `lake` and `big` (tables), `feed` and `alarm` (topics), and dead letters (a table and a topic)."""

    def __init__(self, folder: Path, bootstrap: str, name: str, partitions: int = 4, **settings: Any) -> None:
        self.bootstrap, self.source, self.seed = bootstrap, f"{name}-in", 0
        self.topics = {sink: f"{name}-{sink}" for sink in ("feed", "alarm", "dead")}
        self.codes: dict[bytes | None, str | None] = {}
        for topic in (self.source, *self.topics.values()):
            ensure_topic(bootstrap, topic, partitions)
        where = f"amount > {BIG}"
        spec = {
            "pipeline": name,
            "source": {"kafka": {"brokers": bootstrap.split(","), "topics": [self.source]}},
            "decode": {"json": {"schema": SCHEMA}},
            "sinks": {
                "lake": {"delta": {"table": "./lake/payments"}},
                "big": {"where": where, "delta": {"table": "./lake/big"}},
                "feed": {"kafka": {"topic": self.topics["feed"], "key": "customer_id"}},
                "alarm": {"where": where, "kafka": {"topic": self.topics["alarm"], "value": "raw"}},
            },
            "dead_letters": {"delta": "./lake/dead", "kafka": {"topic": self.topics["dead"]}},
            "trigger": "as_fast_as_possible",
            "pace": {"max_rows": 1000},
            **settings,
        }
        super().__init__(folder, spec)

    def produce(self, events: int, bad_share: float = 0.02) -> None:
        """More payments on the source; the oracle knows what each deserves."""
        self.seed += 1
        made = list(payments(events, seed=self.seed, bad_share=bad_share))
        self.codes |= {event.value: event.code for event in made}
        produce_pairs(self.bootstrap, self.source, [(event.key, event.value) for event in made])

    def deserved(self) -> dict[str, Counter[Name]]:
        """By sink, the records that must be there."""
        names: dict[str, Counter[Name]] = {
            sink: Counter() for sink in ("lake", "big", "feed", "alarm", "dead", "dead_topic")
        }
        for record in read(self.bootstrap, self.source):
            name = (self.source, record.partition, record.offset)
            if self.codes[record.value] is not None:
                places = ["dead", "dead_topic"]
            else:
                places = ["lake", "feed"]
                places += ["big", "alarm"] if float(json.loads(record.value or b"")["amount"]) > BIG else []
            for place in places:
                names[place][name] += 1
        return names

    def found(self) -> dict[str, Counter[Name]]:
        """By sink, the records that are there: tables read by DuckDB, topics by a read_committed client."""
        lineage = "_topic, _partition, _offset"
        topics = {sink: Counter(map(origin, read(self.bootstrap, topic))) for sink, topic in self.topics.items()}
        return {
            "lake": Counter(rows(self.folder / "lake" / "payments", lineage)),
            "big": Counter(rows(self.folder / "lake" / "big", lineage)),
            "dead": Counter(rows(self.folder / "lake" / "dead", 'topic, partition, "offset"')),
            "feed": topics["feed"],
            "alarm": topics["alarm"],
            "dead_topic": topics["dead"],
        }

    def judged(self) -> Verdict:
        deserved, found = self.deserved(), self.found()
        lost = {sink: list((names - found[sink]).elements()) for sink, names in deserved.items()}
        doubled = {sink: list((names - deserved[sink]).elements()) for sink, names in found.items()}
        return Verdict(sum((deserved["lake"] | deserved["dead"]).values()), lost, doubled)


def origin(record: Record) -> Name:
    """Where a record of an output topic came from."""
    headers = {key: (value or b"").decode() for key, value in record.headers}
    return headers["penstock.topic"], int(headers["penstock.partition"]), int(headers["penstock.offset"])


@dataclass
class Watched:
    """What readers saw while the pipeline was killed and run again."""

    seen: dict[str, Counter[Name]] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    """What a reader of the table found wrong."""
    reads: int = 0


@contextmanager
def watching(shop: Shop) -> Iterator[Watched]:
    """Readers beside the pipeline: read_committed on the topics, and the table's newest version, over and over."""
    watched, stop = Watched(), threading.Event()
    threads = [threading.Thread(target=_follow, args=(shop, sink, watched, stop)) for sink in ("feed", "alarm", "dead")]
    threads.append(threading.Thread(target=_look, args=(shop, watched, stop)))
    for thread in threads:
        thread.start()
    try:
        yield watched
        for sink in ("feed", "alarm", "dead"):
            _wait_for_the_end(shop, sink, watched)
    finally:
        stop.set()
        for thread in threads:
            thread.join(30)


def _wait_for_the_end(shop: Shop, sink: str, watched: Watched) -> None:
    count = sum(1 for _ in read(shop.bootstrap, shop.topics[sink]))
    wait_until(lambda: sum(watched.seen[sink].values()) >= count, f"{sink} was read to its end")


def _follow(shop: Shop, sink: str, watched: Watched, stop: threading.Event) -> None:
    seen = watched.seen.setdefault(sink, Counter())
    topic = shop.topics[sink]
    consumer = Consumer(
        {
            "bootstrap.servers": shop.bootstrap,
            "group.id": f"watch-{topic}",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    try:
        partitions = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
        while not stop.is_set():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                headers = tuple(message.headers() or ())
                seen[origin(Record(topic, 0, 0, None, None, headers, 0))] += 1  # type: ignore[arg-type]
    finally:
        consumer.close()


def _look(shop: Shop, watched: Watched, stop: threading.Event) -> None:
    before: set[Any] = set()
    while not stop.wait(1.0):
        found = Counter(rows(shop.folder / "lake" / "payments", "_topic, _partition, _offset"))
        watched.reads += 1
        if found and max(found.values()) > 1:
            watched.tables.append(f"doubled: {found.most_common(1)}")
        if before - set(found):
            watched.tables.append(f"taken back: {next(iter(before - set(found)))}")
        before = set(found)
