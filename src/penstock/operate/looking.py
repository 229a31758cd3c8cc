"""What both `plan` and `preview` need: the stages learned, and a cluster to look at. No state is touched."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.engine.schemas import ids_in, looking_keeper, sampled, topics_of
from penstock.engine.session import session
from penstock.engine.state import place_of
from penstock.engine.tables import committers
from penstock.operate.outline import Outline, outline
from penstock.operate.preview import Preview, Previewer
from penstock.sources.cluster import Cluster
from penstock.sources.peek import peek
from penstock.steps.flow import Flow
from penstock.steps.learn import learn

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from penstock.pipeline import Pipeline
    from penstock.schemas.keeper import Keeper


@dataclass
class Look:
    """A look at one pipeline. Spark is started only if a stage needs it, and only once."""

    pipeline: Pipeline
    bootstrap: str | None
    """None where no broker is to be asked."""
    spark: SparkSession | None = None
    on_start: Callable[[], None] = field(default=lambda: None)
    """Called before Spark is started, which takes some seconds."""

    @cached_property
    def flow(self) -> Flow:
        decode = self.keeper.open(*self._seen()) if self.keeper is not None else None
        return learn(self.pipeline, self.session, decode)

    @cached_property
    def keeper(self) -> Keeper | None:
        """Of the schemas, where the format has a registry."""
        return looking_keeper(self.pipeline, lambda: place_of(self.pipeline, self.session))

    def _seen(self) -> tuple[list[str], Callable[[], Iterable[tuple[str, int]]]]:
        return topics_of(self.pipeline, self.cluster), lambda: sampled(self.pipeline, self.cluster)

    def _flow_for(self, records: pa.RecordBatch) -> Flow:
        """The flow that knows the schemas of these records, as the policy would take them."""
        flow = self.flow
        if self.keeper is None:
            return flow
        ids = ids_in(records)
        self.keeper.asking.waited |= {number for _, number in ids}  # nobody waits in front of a look
        self.keeper.meet(dict.fromkeys(ids, 1), 0)
        return learn(self.pipeline, self.session, self.keeper.format(closed=True))

    @cached_property
    def cluster(self) -> Cluster | None:
        return None if self.bootstrap is None else Cluster(self.bootstrap, self.pipeline.source.isolation)

    def session(self) -> SparkSession:
        if self.spark is None:
            self.on_start()
            log = Path(tempfile.mkdtemp(prefix="penstock-"), "spark.log")
            self.spark = session(self.pipeline.name, self.pipeline.spark, log)
        return self.spark

    def outline(self) -> Outline:
        """What the pipeline would do."""
        tables = committers(self.pipeline, self.session)
        return outline(self.pipeline, self.flow, self.cluster, tables, place_of(self.pipeline, self.session))

    def preview(self, count: int) -> Preview:
        """What becomes of the newest records of its topics."""
        assert self.cluster is not None, "a preview reads records from a broker"
        records = peek(self.cluster, self.cluster.read_by(self.pipeline.source), count)
        return Previewer(self.pipeline, self._flow_for(records), self.session).of(records)

    def explain(self) -> str:
        """Spark's plan of one pass, as text."""
        return explained(self.flow, self.session())


def explained(flow: Flow, spark: SparkSession) -> str:
    from penstock.rows import SOURCE
    from penstock.steps.flow import Builder, spark_schema
    from penstock.steps.legs import legs_of
    from penstock.worker.intake import FromSource
    from penstock.worker.task import ToSpark

    rows = spark.createDataFrame([], spark_schema(SOURCE))
    builder = Builder(rows, FromSource(flow.decode), flow.decode.columns(), 0)
    builder.add_all(legs_of(flow.stages)[0])
    return str(builder.finish(ToSpark())._jdf.queryExecution().simpleString())
