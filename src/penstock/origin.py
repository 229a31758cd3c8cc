"""Origin: which cluster and which topics a batch reads, by their ids and not by their names.

A topic that is deleted and created again keeps its name, and its offsets mean something else. Spark does not know the
difference; the ids (KIP-516) do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import Refused
from penstock.ranges import Positions

EARLIEST = -2
"""Spark's word for the first offset that a partition holds."""


@dataclass(frozen=True)
class Origin:
    """The cluster's id, and the id of each topic by its name. Empty where the broker does not tell."""

    cluster: str = ""
    topics: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"cluster": self.cluster, "topics": dict(sorted(self.topics.items()))}

    @classmethod
    def from_json(cls, body: dict[str, Any] | None) -> Origin:
        return cls() if body is None else cls(body["cluster"], dict(body["topics"]))


def recreated(was: Origin, now: Origin) -> list[str]:
    """The topics that were deleted and created again. One that was not read before simply joins."""
    return [topic for topic, known in was.topics.items() if known and now.topics.get(topic) not in (None, "", known)]


def same_origin(pipeline: str, was: Origin, now: Origin, afresh: str) -> None:
    """Refuse other topics under the same names: their offsets are not those of the checkpoint."""
    if was.cluster and now.cluster and was.cluster != now.cluster:
        raise Refused(
            f"{pipeline}, source kafka: the brokers are those of the cluster {now.cluster}, but the batches so far "
            f"were read from the cluster {was.cluster}.",
            data="Offsets of one cluster mean nothing in another: going on would lose or double rows. "
            "Nothing was written.",
            remedy="Correct source.kafka.brokers; or, if you moved for good, start afresh and keep the tables, with "
            f"`start` at the offsets where the new cluster goes on:  {afresh} --from source",
        )
    found = list(_again(was, now))
    if found:
        raise Refused(
            f"{pipeline}, source kafka: {'; '.join(found)}.",
            data="Its offsets mean something else now: going on would pass over its first records, or read it twice. "
            "Nothing was written.",
            remedy=f"Start afresh and keep the tables; a topic made anew is read from its first record:  {afresh}",
        )


def _again(was: Origin, now: Origin) -> Iterator[str]:
    for topic in recreated(was, now):
        yield (
            f"topic {topic} was deleted and created again: the batches so far were read from the topic with the id "
            f"{was.topics[topic]}, this one has the id {now.topics[topic]}"
        )


def complete(start: Positions, there: list[tuple[str, int]]) -> Positions:
    """`start` for exactly the partitions that are there, as Spark wants it; one it does not name is read whole."""
    return {part: start.get(part, EARLIEST) for part in there}
