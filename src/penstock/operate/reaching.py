"""Everything outside that a verb must reach: the source's cluster and the committers of every sink."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import SetupFailed

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline
    from penstock.sinks.contract import Committer, TopicsCommitter, Watermarked
    from penstock.sources.cluster import Cluster


@dataclass(frozen=True)
class Reached:
    """The source's cluster, the tables, the clusters that are written to."""

    cluster: Cluster
    tables: dict[str, Committer]
    topics: list[TopicsCommitter]

    @property
    def sinks(self) -> dict[str, Watermarked]:
        return {sink.name: sink for sink in (*self.tables.values(), *self.topics)}


def reached(pipeline: Pipeline) -> Reached:
    """The pipeline's outside. Raises Unavailable where a cluster that is written to does not answer."""
    from penstock.engine.tables import committers
    from penstock.engine.topics import topic_committers
    from penstock.sources.cluster import Cluster

    bootstrap = bootstrap_of(pipeline)
    tables, topics = committers(pipeline), topic_committers(pipeline, bootstrap)
    return Reached(Cluster(bootstrap, pipeline.source.isolation), dict(tables), [*topics])


def bootstrap_of(pipeline: Pipeline) -> str:
    """Where the source's brokers answer; for `brokers: dev` the embedded one must run."""
    if pipeline.source.brokers != "dev":
        return ",".join(pipeline.source.brokers)
    from penstock.dev import kafka

    broker = kafka.running(pipeline.folder)
    if broker is None:
        raise SetupFailed(
            f"{pipeline.name}: the embedded broker does not run.", data="Nothing was changed.", remedy="penstock dev up"
        )
    return broker.bootstrap
