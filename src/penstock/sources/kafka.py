"""source kafka, at work: the streaming rows for Spark."""

from __future__ import annotations

import json
from datetime import datetime
from functools import reduce
from typing import TYPE_CHECKING

from penstock.ranges import Positions, positions_to_spark
from penstock.sources.fetching import fetch_options
from penstock.sources.options import Kafka

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

POLL_SECONDS = 30
"""How long one fetch may take before its task fails and is tried again; Spark's own default is two minutes."""


def kafka_options(source: Kafka, bootstrap: str, group: str) -> dict[str, str]:
    """The settings of Spark's Kafka source that say what to read, for a stream or a bounded read alike."""
    subscription = {
        "subscribe": ",".join(source.topics) if source.topics else None,
        "subscribePattern": f"^(?:{source.pattern})$" if source.pattern else None,  # Spark alone would take a part
        "assign": json.dumps({t: list(p) for t, p in source.partitions.items()}) if source.partitions else None,
    }
    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.isolation.level": f"read_{source.isolation}",
        "kafka.default.api.timeout.ms": str(POLL_SECONDS * 1000),
        "kafkaConsumer.pollTimeoutMs": str(POLL_SECONDS * 1000),
        "includeHeaders": "true",
        "groupIdPrefix": group,
        **{key: value for key, value in subscription.items() if value is not None},
    }


def start_options(source: Kafka) -> dict[str, str]:
    """Where the first run begins. Afterwards Spark looks at the checkpoint alone."""
    if isinstance(source.start, datetime):
        return {
            "startingTimestamp": str(int(source.start.timestamp() * 1000)),
            "startingOffsetsByTimestampStrategy": "latest",  # nothing after the time: start at the end
        }
    if isinstance(source.start, dict):
        positions = {(t, p): offset for t, parts in source.start.items() for p, offset in parts.items()}
        return {"startingOffsets": positions_to_spark(positions)}
    return {"startingOffsets": source.start}


def stream(
    spark: SparkSession,
    source: Kafka,
    bootstrap: str,
    *,
    pipeline: str,
    partitions: int,
    max_rows: int,
    skip_losses: bool,
    start: Positions | None = None,
    apart: bool = False,
) -> DataFrame:
    """The streaming rows in Spark's Kafka columns (see `as_source_rows`). `start` rules over the source's own.

    `partitions`: how many there are in all.
    `apart`: a source for each topic, in the order of their names, so that each has a limit of its own.
    """
    topics = topics_apart(source) if apart else []
    if len(topics) > 1:
        every = [
            stream(
                spark,
                only(source, topic),
                bootstrap,
                pipeline=pipeline,
                partitions=partitions,
                max_rows=max(1, max_rows // len(topics)),
                skip_losses=skip_losses,
                start=None if start is None else {part: at for part, at in start.items() if part[0] == topic},
            )
            for topic in topics
        ]
        return reduce(lambda one, other: one.union(other), every)
    options = {
        **kafka_options(source, bootstrap, f"penstock-{pipeline}"),
        **fetch_options(partitions),
        **({"startingOffsets": positions_to_spark(start)} if start is not None else start_options(source)),
        "maxOffsetsPerTrigger": str(max_rows),
        "failOnDataLoss": str(not skip_losses).lower(),
        **({"maxRecordsPerPartition": str(source.task_rows)} if source.task_rows is not None else {}),
    }
    return spark.readStream.format("kafka").options(**options).load()


def topics_apart(source: Kafka) -> list[str]:
    """The topics that this source names, in order; none for a pattern."""
    return sorted([*(source.topics or ()), *(source.partitions or ())])


def only(source: Kafka, topic: str) -> Kafka:
    """The same source, of one of its topics."""
    topics = (topic,) if source.topics is not None else None
    partitions = {topic: source.partitions[topic]} if source.partitions is not None else None
    start = {topic: source.start[topic]} if isinstance(source.start, dict) else source.start
    return source.model_copy(update={"topics": topics, "partitions": partitions, "start": start})


def as_source_rows(records: DataFrame) -> DataFrame:
    """Spark's Kafka columns in the order and types of `rows.SOURCE`.

    Headers go as JSON text (binary values in base64) and null where a record has none: an array on its way into
    Arrow costs CPU for every record, and only dead letters need it back. To be applied behind the count at the source:
    a projection in front of it would copy every value once more.
    """
    return records.selectExpr(
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType AS timestamp_type",
        "CASE WHEN size(headers) > 0 THEN to_json(headers) END AS headers",
    )
