"""The committers of a pipeline's topics: one for each Kafka cluster that it writes to."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.pipeline import Pipeline
from penstock.schemas.contract import Registry
from penstock.sinks.kafka import Topic
from penstock.sinks.kafka.clusters import committers
from penstock.sinks.kafka.committer import KafkaCommitter


def topic_committers(pipeline: Pipeline, bootstrap: str) -> list[KafkaCommitter]:
    """Each cluster is asked for its id: Unavailable where none answers. `bootstrap` is the source's."""
    sinks = {name: sink.to for name, sink in pipeline.sinks.items() if isinstance(sink.to, Topic)}
    letters = pipeline.dead_letters.kafka
    if not sinks and letters is None:
        return []
    topic = letters.topic if letters else None
    return list(committers(pipeline.name, bootstrap, sinks, topic, registry=_registry(pipeline, sinks)).values())


def _registry(pipeline: Pipeline, sinks: Mapping[str, Topic]) -> Registry | None:
    """Where the schemas of values are kept, if any sink has such."""
    if pipeline.registry is None or not any(sink.has_schema for sink in sinks.values()):
        return None
    from penstock.schemas.registry import open_registry

    return open_registry(pipeline.registry)


def written_to(pipeline: Pipeline) -> list[str]:
    """The topics that a pipeline writes to on the source's brokers, as far as they are known by name."""
    sinks = [sink.to for sink in pipeline.sinks.values() if isinstance(sink.to, Topic)]
    letters = [pipeline.dead_letters.kafka.topic] if pipeline.dead_letters.kafka else []
    return [*letters, *(sink.topic for sink in sinks if sink.topic and sink.brokers in (None, "dev"))]
