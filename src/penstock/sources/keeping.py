"""How long a topic keeps its records: what its settings say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.unread import Retention

if TYPE_CHECKING:
    from penstock.sources.cluster import Cluster

ANSWER_SECONDS = 10.0


def keeping(cluster: Cluster, topics: Iterable[str]) -> tuple[dict[str, Retention], str]:
    """The limits of these topics; and in words why some are not known, or nothing."""
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource, ResourceType

    names = sorted(set(topics))
    if not names:
        return {}, ""
    asked = cluster.admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
    found, why = {}, ""
    for resource, future in asked.items():
        try:
            found[resource.name] = _keeps({key: entry.value for key, entry in future.result(ANSWER_SECONDS).items()})
        except (KafkaException, TimeoutError) as error:
            cause: Any = error.args[0] if error.args else None
            told = cause.str() if hasattr(cause, "str") else "no answer in time"
            why = f"the retention of topic {resource.name} ({told}); it needs DescribeConfigs on the topic"
    return found, why


def _keeps(settings: Mapping[str, str | None]) -> Retention:
    policy = settings.get("cleanup.policy") or "delete"
    deletes = "delete" in policy
    return Retention(
        seconds=_limit(settings.get("retention.ms"), 1000) if deletes else None,
        bytes=_whole(_limit(settings.get("retention.bytes"))) if deletes else None,
        segment_bytes=_whole(_limit(settings.get("segment.bytes"))),
        compacted="compact" in policy,
    )


def _limit(text: str | None, scale: int = 1) -> float | None:
    return None if text is None or int(text) < 0 else int(text) / scale


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
