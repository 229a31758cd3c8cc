"""Names that a pipeline goes by on a cluster, and those of its headers. Consumers and other tools rely on them."""

from __future__ import annotations

MARKERS = "penstock-markers"
"""The topic whose group offsets are the markers. Nothing is ever written to it."""
SHARD = 0
"""The only transaction of a batch, so far; a marker's partition is its shard."""

TOPIC, PARTITION, OFFSET, PIPELINE = (
    "penstock.topic",
    "penstock.partition",
    "penstock.offset",
    "penstock.pipeline",
)
"""Headers of every record: where its row came from, and who sent it. The audit of a topic rests on them."""
SINK = "penstock.sink"
"""A header of records in a topic that two sinks of the pipeline write to: which of them it was."""


def transactional_id(app: str, shard: int = SHARD) -> str:
    """One for each pipeline, generation, cluster and shard, for ever: whoever takes it fences all before."""
    return f"{app}.{shard}"


DEAD_LETTERS = "dead_letters_topic"
"""What the rejected records' topic is called among a batch's sinks; their table, which may be there too, is not it."""
