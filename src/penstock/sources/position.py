"""Where the pipeline stands in its source, against what the broker holds: checked before a start and after a fall."""

from __future__ import annotations

from typing import Protocol

from penstock.errors import Refused
from penstock.pipeline import Pipeline
from penstock.ranges import Positions, Range
from penstock.sources.cluster import Cluster
from penstock.sources.losses import Losses, gaps_in
from penstock.sources.options import Kafka


class Progress(Protocol):
    """What of a checkpoint matters here."""

    @property
    def planned(self) -> int | None: ...

    @property
    def committed(self) -> int | None: ...

    def start_of(self, batch_id: int) -> Positions: ...

    def end_of(self, batch_id: int) -> Positions: ...


def check_position(losses: Losses, cluster: Cluster, pipeline: Pipeline, progress: Progress) -> None:
    """Raise if the next record to be read is gone, or if the topics are not those the checkpoint speaks of."""
    there = cluster.read_by(pipeline.source)
    if progress.planned is None:
        _every_partition_named(pipeline, there)
        return
    stands = _stands(progress)
    _same_topics(pipeline, stands, there)
    earliest = cluster.earliest(there)
    next_offsets = {part: stands.get(part, 0) for part in there}  # one that joins is read from its first record
    gaps = gaps_in(tuple(Range(*part, at, max(at, earliest[part])) for part, at in next_offsets.items()), earliest)
    losses.at_start(gaps)
    if losses.policy == "stop":
        _not_beyond_the_end(pipeline, stands, cluster.latest(part for part in stands if part in there))


def first_positions(source: Kafka, cluster: Cluster, partitions: list[tuple[str, int]]) -> Positions:
    """Where a first run would begin, as `source.start` says."""
    if isinstance(source.start, dict):
        return {(topic, part): at for topic, parts in source.start.items() for part, at in parts.items()}
    if source.start == "earliest":
        return cluster.earliest(partitions)
    latest = cluster.latest(partitions)
    if source.start == "latest":
        return latest
    found = cluster.at_time(partitions, int(source.start.timestamp() * 1000))
    return {part: at if at >= 0 else latest[part] for part, at in found.items()}


def _stands(progress: Progress) -> Positions:
    """The next offset to be read, per partition: an unfinished batch is read again from its start."""
    assert progress.planned is not None
    if progress.planned == progress.committed:
        return progress.end_of(progress.planned)
    return {**progress.end_of(progress.planned), **progress.start_of(progress.planned)}


def _every_partition_named(pipeline: Pipeline, there: list[tuple[str, int]]) -> None:
    start = pipeline.source.start
    if not isinstance(start, dict):
        return
    named = {(topic, part) for topic, parts in start.items() for part in parts}
    if named == set(there):
        return
    full: dict[str, dict[int, int]] = {}
    for topic, part in there:
        full.setdefault(topic, {})[part] = start.get(topic, {}).get(part, 0)
    text = ", ".join(
        f"{topic}: {{{', '.join(f'{part}: {offset}' for part, offset in parts.items())}}}"
        for topic, parts in full.items()
    )
    raise Refused(
        f"{pipeline.name}, source kafka: `start` must name every partition that is read, and no other.",
        data="Nothing was read or written.",
        remedy=f"Write (with the offsets you want):  start: {{{text}}}",
    )


def _same_topics(pipeline: Pipeline, stands: Positions, there: list[tuple[str, int]]) -> None:
    before, current = {topic for topic, _ in stands}, {topic for topic, _ in there}
    gone = sorted(before - current)
    if gone and pipeline.source.on_data_loss == "stop":
        raise Refused(
            f"{pipeline.name}: this checkpoint holds offsets of {sorted(before)}, but the pipeline now reads "
            f"{sorted(current)}.",
            data=f"What was not yet read of {', '.join(gone)} would be lost without a word. Nothing was written.",
            remedy="Read them to their end first (`penstock run --once` with the old file), then start afresh:  "
            "penstock new-generation",
        )


def _not_beyond_the_end(pipeline: Pipeline, stands: Positions, latest: Positions) -> None:
    beyond = [
        f"topic {topic} partition {part} ends at {end}, but the checkpoint has read up to {stands[topic, part]}"
        for (topic, part), end in latest.items()
        if stands[topic, part] > end
    ]
    if beyond:
        raise Refused(
            f"{pipeline.name}, source kafka: {'; '.join(beyond)}.",
            data="The topic was deleted and created again, or cut short. Nothing was written.",
            remedy="Its offsets mean something else now. Start afresh, keeping the tables:  penstock new-generation",
        )
