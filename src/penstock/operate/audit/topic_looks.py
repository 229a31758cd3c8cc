"""The sinks of a pipeline that are topics: which of them are on which cluster, and a look at each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.operate.audit.accounts import account_of
from penstock.operate.audit.findings import Finding
from penstock.operate.audit.look import Look
from penstock.operate.audit.markers import marker_findings
from penstock.operate.audit.scope import Scope
from penstock.operate.audit.topics import KafkaTopics, TopicReader
from penstock.sinks.kafka import Topic
from penstock.sinks.kafka.clusters import address
from penstock.sinks.kafka.names import DEAD_LETTERS

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

Connect = Callable[[str], TopicReader]
"""From addresses to the cluster."""


def topic_sinks(pipeline: Pipeline) -> dict[str, Topic | str]:
    """Sinks that are topics; the dead-letter topic under its own name, as its text."""
    sinks: dict[str, Topic | str] = {
        name: sink.to for name, sink in pipeline.sinks.items() if isinstance(sink.to, Topic)
    }
    letters = pipeline.dead_letters.kafka
    return {**({DEAD_LETTERS: letters.topic} if letters else {}), **sinks}


def look_at_topics(
    pipeline: Pipeline, scope: Scope, only: str | None, *, deep: bool, connect: Connect = KafkaTopics
) -> dict[str, Look]:
    """A look at every topic sink. Where no broker answers, nothing is proved of them."""
    from penstock.operate.reaching import bootstrap_of

    sinks = topic_sinks(pipeline)
    wanted = [name for name in sinks if only in (None, name) or name == DEAD_LETTERS]
    looks = {name: Look(account_of(name, scope.judged)) for name in wanted}
    try:
        bootstrap = bootstrap_of(pipeline) if wanted else ""
        for at in dict.fromkeys(_address(sinks[name], bootstrap) for name in wanted):
            mine = {name: looks[name] for name in wanted if _address(sinks[name], bootstrap) == at}
            _cluster(connect(at), mine, sinks, pipeline, scope, deep=deep)
    except PenstockError as error:
        for name, look in looks.items():
            if look.account.written and look.reader is None:
                what = f"sink {name}: its topics cannot be read: {error.what}"
                look.findings.append(Finding("unproven", what, name, look.account.written, error.remedy))
    return looks


def _cluster(
    reader: TopicReader,
    looks: Mapping[str, Look],
    sinks: Mapping[str, Topic | str],
    pipeline: Pipeline,
    scope: Scope,
    *,
    deep: bool,
) -> None:
    """The marker of one cluster, and readers for the rows of its sinks."""
    first = next(iter(looks.values()))
    for finding in marker_findings(reader, looks, scope):
        looks.get(finding.sink or "", first).findings.append(finding)
    for name, look in looks.items():
        topics = _topics(name, sinks, reader, pipeline)
        shared = [other for other, sink in sinks.items() if other != name and _fixed(sink) in topics]
        if shared:
            what = f"sink {name}: sink {shared[0]} writes to the same topic, and records do not say which sent them."
            look.findings += [Finding("unproven", what, name, look.account.written)] if deep else []
        elif deep:
            look.reader, look.excuse = reader.rows(topics, pipeline.name), reader.cut(topics)


def _topics(name: str, sinks: Mapping[str, Topic | str], reader: TopicReader, pipeline: Pipeline) -> list[str]:
    """The topics of a sink; one that names a topic for each row may have written to any that nobody else has."""
    fixed = _fixed(sinks[name])
    if fixed is not None:
        return [fixed]
    taken = {_fixed(sink) for sink in sinks.values()} | set(pipeline.source.topics or ())
    return [topic for topic in reader.topics() if topic not in taken]


def _fixed(sink: Topic | str) -> str | None:
    return sink if isinstance(sink, str) else sink.topic


def _address(sink: Topic | str, bootstrap: str) -> str:
    return bootstrap if isinstance(sink, str) else address(sink, bootstrap)
