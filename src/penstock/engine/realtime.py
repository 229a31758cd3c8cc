"""A run in real time: no batches of ours, no ledger of batches; one query that Spark carries from topic to topic.

What it promises is less: every record at least once, in the order of its partition until a crash. After one, what came
since the last boundary is sent again. Headers say where each record came from, so that a reader can tell copies.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.engine.faults import explain
from penstock.engine.realtime_plan import Outgoing, outgoing
from penstock.engine.starved import Starved
from penstock.engine.watch import POLL_SECONDS, lag_of
from penstock.errors import Refused
from penstock.files import Place
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.ledger import Ledger
from penstock.observe.events import Emit, Progressed, RunStarted, Streamed, Warned
from penstock.pipeline import Pipeline
from penstock.ranges import Positions, positions_from_spark
from penstock.sinks.kafka.client import Client
from penstock.sinks.kafka.directory import Directory
from penstock.sources.cluster import Cluster
from penstock.sources.fetching import fetch_options
from penstock.sources.kafka import kafka_options, start_options
from penstock.triggers import RealTime

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True)
class RealTimeRun:
    """One try of a pipeline in real time."""

    pipeline: Pipeline
    state: Place
    id: str
    emit: Emit
    stopping: threading.Event

    def run(self, spark: SparkSession, cluster: Cluster, log: Path, *, once: bool) -> str:
        """Until it is stopped, or cannot go on; says why it ended."""
        from pyspark.errors import StreamingQueryException

        name = self.pipeline.name
        if once:
            raise Refused(
                f"{name}: real time has no end that `--once` could wait for.",
                data="Nothing was read.",
                remedy="Leave `--once` out, or write  trigger: available_now",
            )
        ledger = Ledger.find(self.state, name, self.id) or Ledger(self.state, name, 1, self.id)
        check_state(self.pipeline, ledger)
        ledger.open(about={"source": cluster.origin_of(self.pipeline.source).to_json()})
        checkpoint = Checkpoint(self.state / "spark")
        query = start_real_time(spark, self.pipeline, cluster, checkpoint, ledger.generation)
        self.emit(
            RunStarted(
                pipeline=name,
                generation=ledger.generation,
                brokers=cluster.bootstrap,
                state=str(self.state),
                resumes_at=None if checkpoint.committed is None else checkpoint.committed + 1,
            )
        )
        try:
            watch_real_time(query, self.pipeline, self.emit, self.stopping, cluster)
        except StreamingQueryException as error:
            raise explain(error, name, log) from error
        finally:
            query.stop()
        return "stopped"


def check_room(pipeline: Pipeline, partitions: list[tuple[str, int]], slots: int) -> None:
    """Refuse fewer task slots than partitions: a task that finds no slot reads nothing, and nobody would say so."""
    if slots < len(partitions):
        raise Refused(
            f"{pipeline.name}: in real time every partition needs a task slot of its own: there are "
            f"{len(partitions)} partitions and {slots} slots.",
            data="Partitions without a slot would never be read, without an error. Nothing was read.",
            remedy=f"Give it room:  spark: {{spark.master: 'local[{len(partitions)},4]'}}  (or read fewer partitions)",
        )


def check_state(pipeline: Pipeline, ledger: Ledger) -> None:
    """Refuse a state in which batches were written exactly once: real time would go on behind their back."""
    if ledger.last_intent() is not None:
        raise Refused(
            f"{pipeline.name}: this state folder holds batches that were written exactly once; real time keeps no "
            "such account.",
            data="Nothing was read or written.",
            remedy="Give it a state of its own:  state: ./state/" + f"{pipeline.name}-real-time",
        )


def start_real_time(
    spark: SparkSession, pipeline: Pipeline, cluster: Cluster, checkpoint: Checkpoint, generation: int
) -> StreamingQuery:
    """The running query. Everything that can be known before is checked before."""
    assert isinstance(pipeline.trigger, RealTime)
    partitions = cluster.read_by(pipeline.source)
    check_room(pipeline, partitions, spark.sparkContext.defaultParallelism)
    known = Outgoing(limits_of(pipeline, cluster.bootstrap), generation)
    options = {
        **kafka_options(pipeline.source, cluster.bootstrap, f"penstock-{pipeline.name}"),
        **fetch_options(len(partitions), batches=False),
        **start_options(pipeline.source),
        "failOnDataLoss": str(pipeline.source.on_data_loss == "stop").lower(),
    }
    records = spark.readStream.format("kafka").options(**options).load()
    writer = outgoing(records, pipeline, known).writeStream.format("kafka").queryName(pipeline.name)
    writer = writer.options(**producer_options(pipeline, cluster.bootstrap, known)).outputMode("update")
    writer = writer.option("checkpointLocation", str(checkpoint.folder))
    seconds = round(pipeline.trigger.real_time.seconds)
    real_time: dict[str, Any] = {"realTime": f"{seconds} seconds"}  # younger than the signatures that Spark ships
    query: StreamingQuery = writer.trigger(**real_time).start()
    return query


def limits_of(pipeline: Pipeline, bootstrap: str) -> dict[str, int]:
    """Every topic that may be written to, and how large a record it takes. Refuses topics that are not there."""
    directory = Directory(Client(bootstrap))
    named = {name: sink.to.topic for name, sink in pipeline.sinks.items() if sink.to.topic is not None}
    letters = pipeline.dead_letters.kafka
    assert letters is not None, "held by the rules of real time"
    for name, topic in {**named, "dead_letters": letters.topic}.items():
        directory.must_have(name, topic)
    any_topic = any(sink.to.topic_from is not None for sink in pipeline.sinks.values())
    return directory.limits(None if any_topic else [*named.values(), letters.topic])


def producer_options(pipeline: Pipeline, bootstrap: str, known: Outgoing) -> dict[str, str]:
    """Of Spark's producer: it waits for every replica, and for nothing else."""
    sinks = [sink.to for sink in pipeline.sinks.values()]
    linger = min((sink.linger.seconds for sink in sinks if "linger" in sink.model_fields_set), default=0.0)
    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.acks": "all",
        "kafka.enable.idempotence": "true",
        "kafka.linger.ms": str(round(linger * 1000)),
        "kafka.compression.type": sinks[0].compression if "compression" in sinks[0].model_fields_set else "none",
        "kafka.max.request.size": str(max(known.limits.values()) + 1024),
    }


def watch_real_time(
    query: StreamingQuery, pipeline: Pipeline, emit: Emit, stopping: threading.Event, cluster: Cluster
) -> None:
    """Return when the query has ended; raise what ended it. A stop does not wait for the boundary."""
    boundaries = _Boundaries(pipeline, emit, cluster)
    while not query.awaitTermination(POLL_SECONDS):  # type: ignore[arg-type]  # Spark takes fractions of a second
        boundaries.look(query)
        if stopping.is_set():
            query.stop()
    boundaries.look(query)


class _Boundaries:
    """Tells what each boundary brings: counts, lag, and partitions that nobody reads."""

    def __init__(self, pipeline: Pipeline, emit: Emit, cluster: Cluster) -> None:
        self.pipeline, self.emit, self.cluster = pipeline.name, emit, cluster
        self._last: str | None = None
        self._starved = Starved()

    def look(self, query: StreamingQuery) -> None:
        report: Any = query.lastProgress
        if report is None or report["timestamp"] == self._last:
            return
        self._last = report["timestamp"]
        lag = lag_of(report["sources"])
        rows = report["numInputRows"]
        self.emit(
            Progressed(
                pipeline=self.pipeline,
                batch_id=report["batchId"],
                rows=rows,
                rows_per_second=round(report["processedRowsPerSecond"] or 0.0, 1),
                lag_rows=None if lag is None else sum(lag.values()),
                lag=lag or {},
            )
        )
        self._count(report)
        self._look_for_starved(report)

    def _count(self, report: Any) -> None:
        told = (report.get("observedMetrics") or {}).get("penstock")
        if told is not None:
            counts = told.asDict() if hasattr(told, "asDict") else dict(told)
            read = counts.pop("read")
            out = {code: count for code, count in counts.items() if count}
            self.emit(Streamed(pipeline=self.pipeline, batch_id=report["batchId"], read=read, rejected=out))

    def _look_for_starved(self, report: Any) -> None:
        ends = _positions(report, "endOffset")
        if not ends:
            return
        for topic, part in self._starved.look(ends, self.cluster.latest(ends)):
            text = (
                f"{topic}-{part} was not read since the last boundary, though records wait in it. Other work may hold "
                "its task slot: in real time every partition needs one of its own."
            )
            self.emit(Warned(pipeline=self.pipeline, text=text))


def _positions(report: Any, name: str) -> Positions:
    found: Positions = {}
    for source in report["sources"]:
        if source[name] not in (None, "null"):
            found |= positions_from_spark(source[name])
    return found
