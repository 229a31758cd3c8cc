"""The main job as a pipeline."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from bench.job import Job
from penstock import DeadLetters, Delta, Json, Kafka, Pace, Pipeline, Sink
from penstock.dev.payments import SCHEMA
from penstock.schemas.options import RegistryOptions

CHECKS: list[dict[str, Any]] = [
    {"name": "positive_amount", "rule": "amount > 0"},
    {"name": "known_currency", "rule": "currency IN ('EUR', 'USD', 'GBP', 'CHF')"},
]
STEPS = [{"select": ["*", "to_date(event_time) AS event_date"]}]


def penstock(job: Job) -> None:
    """`penstock run --once`, in this process and session."""
    drain(job)


def checked(job: Job) -> None:
    """With two simple checks and a column by SQL."""
    drain(job, checks=CHECKS, steps=STEPS)


def avro(job: Job) -> None:
    """Framed Avro, by a registry."""
    from penstock.formats.avro import Avro

    drain(replace(job, topic="payments-avro"), decode=Avro(), registry=_registry())


def protobuf(job: Job) -> None:
    """Framed Protobuf, by a registry."""
    from penstock.formats.protobuf import Protobuf

    drain(replace(job, topic="payments-protobuf"), decode=Protobuf(), registry=_registry())


def _registry() -> RegistryOptions:
    return RegistryOptions(url=os.environ["BENCH_REGISTRY"])


def drain(job: Job, **sections: Any) -> None:
    """With these sections besides."""
    from penstock.engine.run import RunOptions, run
    from penstock.observe.events import nowhere

    pipeline = Pipeline(
        name="bench",
        folder=job.folder,
        source=Kafka(brokers=(job.bootstrap,), topics=(job.topic,)),
        sinks={"lake": Sink(to=Delta(table=str(job.table)))},
        dead_letters=DeadLetters(delta=str(job.dead_letters)),
        pace=Pace(max_rows=job.batch_rows),
        **{"decode": Json(schema=SCHEMA), **sections},
    )
    settle(pipeline)
    run(pipeline, RunOptions(once=True), nowhere, spark=job.spark)


def settle(pipeline: Pipeline) -> None:
    """Leave what a pipeline that has run for a while has learned: a new one begins with small batches."""
    from penstock.pace.law import Learned
    from penstock.pace.memory import path_in, remember

    remember(path_in(pipeline.workplace), Learned(limit=pipeline.pace.max_rows, rate=100_000.0, fixed=0.5))
