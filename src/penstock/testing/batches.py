"""A pipeline without a broker: batches of plain values, handed to `write_batch` as Spark would hand them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock import Delta, Json, Kafka, Pipeline, Sink
from penstock.batch import write_batch
from penstock.dev.oracle import rows
from penstock.engine.schemas import keeper_of
from penstock.engine.tables import committers
from penstock.ledger.ledger import Ledger
from penstock.observe.events import Event
from penstock.plan import Plan
from penstock.ranges import Range
from penstock.sources.losses import Losses
from penstock.steps.learn import learn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = "id BIGINT NOT NULL, name STRING, amount DECIMAL(18,2)"
SPARK_SOURCE = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestamp_type INT, "
    "headers STRING"
)


@dataclass
class Bench:
    """A pipeline on a folder, and batches made of plain values."""

    spark: SparkSession
    folder: Path
    told: list[Event] = field(default_factory=list)
    schema: str = SCHEMA
    delta: dict[str, Any] = field(default_factory=dict)
    sections: dict[str, Any] = field(default_factory=dict)
    """Further sections of the pipeline: checks, steps, other sinks."""

    @property
    def table(self) -> Path:
        return self.folder / "lake" / "t"

    @property
    def state(self) -> Path:
        return self.folder / "state" / "p"

    def plan(self) -> Plan:
        """As a new process would make it."""
        sections = {
            "source": Kafka(brokers=("localhost:9092",), topics=("t",)),
            "decode": Json(schema=self.schema),
            "sinks": {"lake": Sink(to=Delta(table="./lake/t", **self.delta))},
        }
        pipeline = Pipeline(name="p", folder=self.folder, **{**sections, **self.sections})
        ledger = Ledger(self.state, "p", 1)
        losses = Losses("p", "stop", lambda _partitions: {}, "penstock run p.yaml")
        keeper = keeper_of(pipeline, lambda: Path(pipeline.state), self.told.append)
        flow = learn(pipeline, lambda: self.spark, keeper.open(["t"]) if keeper else None)
        tables = {**committers(pipeline, lambda: self.spark)}
        plan = Plan(pipeline, ledger, losses, tables, "code", flow, self.told.append)
        plan.schemas, plan.learn = keeper, lambda decode: learn(pipeline, lambda: self.spark, decode)
        return plan

    def rows(self, values: Sequence[bytes | None], partition: int = 0, first: int = 0) -> DataFrame:
        at = datetime(2026, 11, 1, tzinfo=UTC)
        records = [
            (b"k", value, "t", partition, first + number, at, 0, '[{"key": "h", "value": "MQ=="}]')
            for number, value in enumerate(values)
        ]
        return self.spark.createDataFrame(records, SPARK_SOURCE)

    def write(
        self, values: Sequence[bytes | None], batch_id: int = 0, first: int = 0, plan: Plan | None = None
    ) -> None:
        ranges = (Range("t", 0, first, first + len(values)),)
        write_batch(plan or self.plan(), self.rows(values, first=first), batch_id, ranges)

    def names(self) -> list[tuple[Any, ...]]:
        """(partition, offset) of every row in the table, sorted."""
        return sorted(rows(self.table, "_partition, _offset"))

    def dead(self, columns: str = "code, field") -> list[tuple[Any, ...]]:
        return sorted(rows(self.state / "dead_letters", columns))
