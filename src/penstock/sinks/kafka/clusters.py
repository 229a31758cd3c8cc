"""The Kafka sinks of a pipeline by cluster: those that share one share a transaction."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.schemas.contract import Registry
from penstock.sinks.kafka import Topic
from penstock.sinks.kafka.client import Client
from penstock.sinks.kafka.committer import KafkaCommitter
from penstock.sinks.kafka.directory import Directory


def committers(
    pipeline: str,
    bootstrap: str,
    sinks: Mapping[str, Topic],
    dead_letters: str | None = None,
    settings: Mapping[str, str] | None = None,
    registry: Registry | None = None,
) -> dict[str, KafkaCommitter]:
    """One committer for each cluster, by the cluster's id; that of the dead letters, which is the source's, first.

    `bootstrap` is where the source's brokers answer: sinks that name none write there. Two lists of brokers may name
    the same cluster, so each is asked; Unavailable where none answers.
    """
    addresses = {name: address(sink, bootstrap) for name, sink in sinks.items()}
    asked = [bootstrap] if dead_letters else []
    clusters = {each: cluster_id(each, settings) for each in dict.fromkeys([*asked, *addresses.values()])}
    found = {}
    for at, cluster in clusters.items():
        if cluster not in found:
            own = {name: sink for name, sink in sinks.items() if clusters[addresses[name]] == cluster}
            letters = dead_letters if cluster == clusters.get(bootstrap) else None
            found[cluster] = KafkaCommitter(at, pipeline, own, letters, settings, registry)
    return found


def address(sink: Topic, bootstrap: str) -> str:
    """Where this sink's brokers answer; `dev` is the embedded broker that the source reads from."""
    return bootstrap if sink.brokers is None or sink.brokers == "dev" else ",".join(sink.brokers)


def cluster_id(bootstrap: str, settings: Mapping[str, str] | None = None) -> str:
    """The id that the cluster reports."""
    return Directory(Client(bootstrap, settings or {})).cluster_id
