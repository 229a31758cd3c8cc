"""The sinks of a pipeline that are topics: which of them are on which cluster, and a look at each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.operate.audit.accounts import account_of
from penstock.operate.audit.findings import Finding
from penstock.operate.audit.look import Look
from penstock.operate.audit.markers import marker_findings
from penstock.operate.audit.scope import Scope
from penstock.operate.audit.topics import KafkaTopics, Named, TopicReader
from penstock.sinks.kafka import Topic, shares_topics
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
            there = {name: sink for name, sink in sinks.items() if _address(sink, bootstrap) == at}
            mine = {name: looks[name] for name in wanted if name in there}
            _cluster(connect(at), mine, there, pipeline, scope, deep=deep)
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
        if deep and _among_letters(name, sinks):
            what = f"sink {name}: the dead letters go to the same topic, and records do not say which sent them."
            look.findings.append(Finding("unproven", what, name, look.account.written))
        elif deep:
            named = _named(name, sinks, topics)
            if named is not None and _fixed(sinks[name]) is None:
                topics = [topic for topic in reader.topics() if topic not in (pipeline.source.topics or ())]
            look.reader, look.excuse = reader.rows(topics, pipeline.name, named), reader.cut(topics)


def _among_letters(name: str, sinks: Mapping[str, Topic | str]) -> bool:
    letters = sinks.get(DEAD_LETTERS)
    others = [sink for sink in sinks if sink != name] if name == DEAD_LETTERS else [DEAD_LETTERS]
    return letters is not None and any(_fixed(sinks[other]) == _fixed(sinks[name]) for other in others)


def _named(name: str, sinks: Mapping[str, Topic | str], topics: Iterable[str]) -> Named | None:
    """How to tell the records of this sink from those of others in the same topics; None if there are no others."""
    with_options = {each: sink for each, sink in sinks.items() if isinstance(sink, Topic)}
    if name not in with_options or not shares_topics(name, with_options):
        return None
    taken = {_fixed(sink) for other, sink in sinks.items() if other != name}
    rivals = [each for each, sink in with_options.items() if each != name and sink.topic is None]
    several = with_options[name].topic is None and bool(rivals)
    return Named(name, frozenset() if several else frozenset(topics) - {topic for topic in taken if topic})


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
