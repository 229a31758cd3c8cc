"""The main job in other Python frameworks for streams, as their documentation shows it; the tables by deltalake.

None has a Delta sink of its own (Pathway's wants a licence key), so each gets a sink of the kind its documentation
teaches, without any promise of exactly once. They run in environments of their own: they pin other versions of the
clients. PyFlink is in `bench.flink`.
"""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa

from bench.job import Job
from bench.loops import FIELDS, LETTER, LINEAGE, typed


def parsed(value: bytes | None) -> dict[str, Any] | None:
    """The event, typed; None for a bad one."""
    import orjson

    try:
        return typed(orjson.loads(value or b""))
    except (ValueError, TypeError, KeyError, ArithmeticError):
        return None


def waiting(job: Job) -> int:
    """How many records the topic holds."""
    from confluent_kafka import Consumer, TopicPartition

    looking = Consumer({"bootstrap.servers": job.bootstrap, "group.id": "looking"})
    partitions = looking.list_topics(job.topic, 10).topics[job.topic].partitions
    records = sum(looking.get_watermark_offsets(TopicPartition(job.topic, part), 10)[1] for part in partitions)
    looking.close()
    return int(records)


class Tables:
    """Gathers events and appends them to the two tables."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.good: list[dict[str, Any]] = []
        self.letters: list[dict[str, Any]] = []

    def add(self, row: dict[str, Any] | None, value: bytes | None, place: tuple[str, int, int]) -> None:
        lineage = dict(zip(LINEAGE.names, place, strict=True))
        if row is None:
            self.letters.append({**lineage, "_value": value})
        else:
            self.good.append({**row, **lineage})
        if len(self.good) + len(self.letters) >= self.job.batch_rows:
            self.flush()

    def flush(self) -> None:
        from deltalake import write_deltalake

        whole = pa.schema([*FIELDS, *LINEAGE])
        for table, rows, schema in ((self.job.dead_letters, self.letters, LETTER), (self.job.table, self.good, whole)):
            if rows:
                write_deltalake(str(table), pa.Table.from_pylist(rows, schema), mode="append")
        self.good, self.letters = [], []


def bytewax(job: Job) -> None:
    import bytewax.operators as op
    from bytewax.connectors.kafka import KafkaSource
    from bytewax.dataflow import Dataflow
    from bytewax.outputs import DynamicSink, StatelessSinkPartition
    from bytewax.run import cli_main

    class Partition(StatelessSinkPartition):  # type: ignore[misc]
        def __init__(self) -> None:
            self.tables = Tables(job)

        def write_batch(self, items: list[Any]) -> None:
            for message, row in items:
                self.tables.add(row, message.value, (message.topic, message.partition, message.offset))

        def close(self) -> None:
            self.tables.flush()

    class Sink(DynamicSink):  # type: ignore[misc]
        def build(self, _step: str, _worker: int, _workers: int) -> Partition:
            return Partition()

    flow = Dataflow("bench")
    messages = op.input("read", flow, KafkaSource([job.bootstrap], [job.topic], tail=False, batch_size=10_000))
    rows = op.map("parse", messages, lambda message: (message, parsed(message.value)))
    op.output("write", rows, Sink())
    cli_main(flow, workers_per_process=1)


def quix(job: Job) -> None:
    from quixstreams import Application
    from quixstreams.sinks.base import BatchingSink, SinkBatch

    class Sink(BatchingSink):  # type: ignore[misc]
        def write(self, batch: SinkBatch) -> None:
            tables = Tables(job)
            for item in batch:
                value, row = item.value
                tables.add(row, value, (batch.topic, batch.partition, item.offset))
            tables.flush()

    app = Application(
        broker_address=job.bootstrap,
        consumer_group=f"quix-{uuid.uuid4().hex[:8]}",
        auto_offset_reset="earliest",
        commit_every=job.batch_rows,
        commit_interval=3600,
        loglevel="ERROR",
    )
    stream = app.dataframe(app.topic(job.topic, value_deserializer="bytes"))
    stream = stream.apply(lambda value: (value, parsed(value)))
    stream.sink(Sink())
    app.run(count=waiting(job))


def pathway(job: Job) -> None:
    import pathway as pw
    from pathway.internals import parse_graph

    tables = Tables(job)

    def add(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        value, place = row["data"], row["_metadata"].value
        tables.add(parsed(value), value, (place["topic"], place["partition"], place["offset"]))

    parse_graph.G.clear()  # what an earlier drain built
    settings = {"bootstrap.servers": job.bootstrap, "group.id": "pathway", "auto.offset.reset": "earliest"}
    messages = pw.io.kafka.read(settings, job.topic, mode="static", with_metadata=True, autogenerate_key=True)
    pw.io.subscribe(messages, on_change=add, on_end=tables.flush)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
