"""Run: hold the lease, check, start the query, watch it, wait out what time can cure, stop at a batch's end."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from penstock.engine.faults import explain
from penstock.engine.given import check_given
from penstock.engine.governor import Governor, RestartAsked
from penstock.engine.jvm import Jvm
from penstock.engine.observer import Observer
from penstock.engine.patience import Patience
from penstock.engine.query import Batches, StopAsked, start_query
from penstock.engine.realtime import RealTimeRun
from penstock.engine.renewal import Renewal
from penstock.engine.schemas import keeper_of, sampled, topics_of
from penstock.engine.session import session_of
from penstock.engine.state import place_of
from penstock.engine.tables import committers
from penstock.engine.topics import topic_committers, written_to
from penstock.engine.warm import Warmth
from penstock.engine.watch import Silence, watch
from penstock.errors import PenstockError, TableChanged, Unavailable
from penstock.files import Place
from penstock.formats.contract import FormatOptions
from penstock.ledger.lease import lease
from penstock.ledger.preflight import Preflight
from penstock.observe.events import BatchCommitted, Emit, Event, Progressed, RunEnded, RunStarted, Warned
from penstock.origin import Origin, complete
from penstock.pipeline import Pipeline
from penstock.plan import Plan
from penstock.profiles import PROFILES
from penstock.schemas.keeper import Keeper
from penstock.sinks.contract import Committer, Watermarked, Witness, WriteKey
from penstock.sinks.kafka.committer import KafkaCommitter
from penstock.sources.cluster import Cluster
from penstock.sources.kafka import as_source_rows
from penstock.sources.losses import Losses, Policy
from penstock.sources.position import check_position
from penstock.steps.flow import Flow
from penstock.steps.functions import source_of
from penstock.steps.learn import learn
from penstock.triggers import RealTime
from penstock.version import __version__

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONCE_PATIENCE_SECONDS = 600.0
"""How long `--once` waits for what is away; a run without an end waits for ever."""


@dataclass(frozen=True)
class RunOptions:
    """How this run is to be, as far as it is not the pipeline's matter."""

    once: bool = False
    accept_loss: bool = False
    file: str = "FILE"
    """What the user typed: errors print commands with it."""


def run(
    pipeline: Pipeline,
    options: RunOptions,
    emit: Emit,
    stopping: threading.Event | None = None,
    spark: SparkSession | None = None,
    jvm: Jvm | None = None,
) -> None:
    """Run the pipeline until it is done, told to stop, or cannot go on (then the error says why)."""
    Run(pipeline, options, emit, stopping or threading.Event(), spark, jvm).to_the_end()


class Run:
    """One run of one pipeline; it may take several tries of the query."""

    def __init__(
        self,
        pipeline: Pipeline,
        options: RunOptions,
        emit: Emit,
        stopping: threading.Event,
        spark: SparkSession | None,
        jvm: Jvm | None = None,
    ) -> None:
        self.pipeline, self.options, self.stopping, self.spark, self.jvm = pipeline, options, stopping, spark, jvm
        self.id = uuid.uuid4().hex[:12]
        self.log = pipeline.workplace / "logs" / "spark.log"
        self.batches = 0
        self.losses: Losses | None = None
        self.flow: Flow | None = None
        self._emit = emit
        once = options.once or pipeline.trigger == "available_now"
        self.observer = Observer(pipeline, pipeline.workplace, self.id, emit)
        self.patience = Patience(pipeline.name, self.emit, stopping, ONCE_PATIENCE_SECONDS if once else None)
        self.governor = Governor(pipeline, self.emit, once=once)
        self.tables: dict[str, Committer] = {**committers(pipeline, self._session)}
        self.topics: list[KafkaCommitter] | None = None

    def to_the_end(self) -> None:
        began = time.monotonic()
        if self.spark is not None:
            check_given(self.spark, self.pipeline.name)
        with ExitStack() as held:
            self._hold(held)
            with ExitStack() as stack, self.observer.looking():
                reason = self._tries(stack)
                self.observer.ended(reason)
        seconds = round(time.monotonic() - began, 1)
        self.emit(RunEnded(pipeline=self.pipeline.name, reason=reason, batches=self.batches, seconds=seconds))

    def emit(self, event: Event) -> None:
        if isinstance(event, BatchCommitted | Progressed):
            self.patience.ease()
        self.batches += isinstance(event, BatchCommitted)
        self.observer.heard(event)
        self._emit(event)

    def _hold(self, held: ExitStack) -> None:
        """Take the lease. A state elsewhere that does not answer is waited for, until the run is told to stop."""
        while not self.stopping.is_set():
            try:
                held.enter_context(lease(self.state / "lease", self.pipeline.name, self.id))
                return
            except Unavailable as error:
                self.patience.wait(error)

    def _tries(self, stack: ExitStack) -> str:
        while not self.stopping.is_set():
            try:
                ended = self._try(self._bootstrap(stack))
                if ended != "again":
                    return ended
            except (Unavailable, TableChanged) as error:
                self.patience.wait(error)
        return "stopped"

    def _try(self, bootstrap: str) -> str:
        """Check everything, run the query until it ends; say why it ended."""
        from py4j.protocol import Py4JError
        from pyspark.errors import StreamingQueryException

        cluster = Cluster(bootstrap, self.pipeline.source.isolation)
        if isinstance(self.pipeline.trigger, RealTime):
            return RealTimeRun(self.pipeline, self.state, self.id, self.emit, self.stopping).run(
                self._session(), cluster, self.log, once=self.options.once
            )
        plan, preflight = self._plan(cluster)
        batches = Batches(plan, preflight.checkpoint, cluster, self.stopping, self.governor)
        skip = plan.losses.policy != "stop"
        query = start_query(self._session(), batches, once=self.options.once, skip_losses=skip)
        try:
            renewal = Renewal(plan, self.emit)
            warmth = Warmth(self._session(), wanted=PROFILES[self.pipeline.profile].warm)
            tend = [renewal.tend, warmth.tend]
            silence, output = Silence(cluster, self.patience), self.log.with_name("spark.out")
            watch(query, self.pipeline.name, self.emit, self.stopping, silence, tend, output, self.governor)
        except StreamingQueryException as error:
            if isinstance(batches.failure, StopAsked):
                return "stopped"
            if isinstance(batches.failure, RestartAsked):
                return "again"
            if isinstance(batches.failure, PenstockError):
                raise batches.failure from error
            check_position(plan.losses, cluster, self.pipeline, preflight.checkpoint)
            raise explain(error, self.pipeline.name, self.log) from error
        except Py4JError as error:
            raise PenstockError(
                f"{self.pipeline.name}: Spark's JVM has ended: {error}",
                data="The batch in hand was not committed; it will be done again, once.",
                remedy=f"Look at {self.log} and its neighbour spark.out, then run again.",
            ) from error
        finally:
            with suppress(Py4JError):  # a JVM that has ended has stopped its query
                query.stop()
        return "stopped" if self.stopping.is_set() else "done"

    def _plan(self, cluster: Cluster) -> tuple[Plan, Preflight]:
        topics = self.topics = self.topics or topic_committers(self.pipeline, cluster.bootstrap)
        sinks: dict[str, Watermarked] = {**self.tables, **{each.name: each for each in topics}}
        preflight = Preflight(self.pipeline.name, self.state, sinks, self.options.file)
        ledger = preflight.check(self.id)
        origin = cluster.origin_of(self.pipeline.source)
        must_be_there = self.pipeline.source.on_data_loss == "stop"
        preflight.source(ledger, origin, cluster.partitions(), must_be_there=must_be_there)
        losses = self.losses = self.losses or self._losses(cluster)
        losses.earliest = cluster.earliest
        check_position(losses, cluster, self.pipeline, preflight.checkpoint)
        self.flow = self._learned(cluster)
        start = ledger.open(about=about(origin, sinks.values()))
        if start is not None:
            start = complete(start, cluster.read_by(self.pipeline.source))
        planned = preflight.checkpoint.planned
        self.emit(
            RunStarted(
                pipeline=self.pipeline.name,
                generation=ledger.generation,
                brokers=cluster.bootstrap,
                state=str(self.state),
                resumes_at=None if planned is None else planned + (planned == preflight.checkpoint.committed),
            )
        )
        for text in preflight.warnings:
            self.emit(Warned(pipeline=self.pipeline.name, text=text))
        if planned is not None and planned != preflight.checkpoint.committed:
            for each in topics:  # a batch was in hand: what a crash left open would hold up readers until it times out
                each.fence(WriteKey(self.pipeline.name, ledger.generation, each.name, planned, ""))
        code = fingerprint(self.pipeline)
        plan = Plan(self.pipeline, ledger, losses, self.tables, code, self.flow, self.emit, [*topics], start)
        plan.origin, plan.as_source = cluster.origin, as_source_rows
        plan.schemas, plan.learn = self.schemas, self._learn
        last = ledger.last_outcome()
        plan.weighed = last is not None and last.tally.large > 0
        self.observer.attach(cluster, ledger, topics, start)
        return plan, preflight

    def _learned(self, cluster: Cluster) -> Flow:
        """The stages, learned once; anew where a schema has brought other columns meanwhile."""
        if self.schemas is None:
            return self.flow or self._learn(self.pipeline.decode)
        decode = self.schemas.open(topics_of(self.pipeline, cluster), lambda: sampled(self.pipeline, cluster))
        return self._learn(decode)

    def _learn(self, decode: FormatOptions) -> Flow:
        return learn(self.pipeline, self._session, decode)

    @cached_property
    def schemas(self) -> Keeper | None:
        """Of a format with a registry."""
        return keeper_of(self.pipeline, lambda: self.state, self.emit, self.stopping)

    @cached_property
    def state(self) -> Place:
        """Where the state is; to reach it elsewhere than on this machine, Spark is started."""
        return place_of(self.pipeline, self._session)

    def _session(self) -> SparkSession:
        """The session, made when it is first needed: what can be refused without a JVM is refused quickly."""
        if self.spark is None:
            self.spark = session_of(self.pipeline, self.jvm)
            check_given(self.spark, self.pipeline.name)  # it may be one that was there
        return self.spark

    def _losses(self, cluster: Cluster) -> Losses:
        """The policy for losses, kept over the tries of this run: what was accepted is accepted once."""
        policy: Policy = "accept" if self.options.accept_loss else self.pipeline.source.on_data_loss
        return Losses(self.pipeline.name, policy, cluster.earliest, f"penstock run {self.options.file}")

    def _bootstrap(self, stack: ExitStack) -> str:
        """The broker addresses; `brokers: dev` starts the embedded broker, for this run, unless it runs already."""
        source = self.pipeline.source
        if source.brokers != "dev":
            return ",".join(source.brokers)
        from penstock.dev import kafka

        broker = kafka.running(self.pipeline.folder) or kafka.up(self.pipeline.folder, child=True)
        if broker.mine:
            stack.callback(broker.stop)
        for topic in [*(source.topics or ()), *(source.partitions or ()), *written_to(self.pipeline)]:
            kafka.ensure_topic(broker.bootstrap, topic)
        return broker.bootstrap


def about(origin: Origin, sinks: Iterable[Watermarked]) -> dict[str, Any]:
    """What the ledger says, for people, of where a generation reads and writes."""
    return {
        "source": origin.to_json(),
        "sinks": {sink.name: sink.identity() for sink in sinks if isinstance(sink, Witness)},
    }


def fingerprint(pipeline: Pipeline) -> str:
    """Of the pipeline, its own functions and penstock's version: tells whether a replay runs other code."""
    functions = [step.python for step in pipeline.steps if step.python is not None]
    sources = " ".join(source_of(function, str(pipeline.folder)) for function in functions)
    seen = {"observe", "alerts", "notify"}  # how it is looked at changes nothing of what it does
    told = pipeline.model_dump_json(exclude=seen)
    return hashlib.sha256(f"{__version__} {told} {sources}".encode()).hexdigest()[:16]
