"""The ranges of all batches as one chain for each partition: what was skipped, and what was read twice.

A topic that was deleted and created again begins a chain of its own: its offsets are other records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.operate.audit.books import Batch, Generation
from penstock.ranges import Range

Link = tuple[str, int, str]
"""Topic, partition, and the topic's id."""
Reached = dict[Link, int]


@dataclass(frozen=True)
class Break:
    """A place where the chain does not hold: offsets that no batch read (a hole), or that two did (an overlap)."""

    range: Range
    batch: Batch
    """The batch that begins behind the hole, or that reads again."""
    hole: bool
    between: bool
    """Between two generations, not within one."""


def breaks(generations: list[Generation]) -> Iterator[Break]:
    """Every hole and overlap, in order."""
    reached: Reached = {}
    for generation in map(_with_topics, generations):
        before, at = dict(reached), _begin(generation)
        yield from _skipped(generation, at, before)
        for batch in generation.batches:
            for part in batch.ranges:
                link = _link(batch, part.topic, part.partition)
                yield from _at(part, batch, at.get(link), before.get(link))
                at[link] = part.end
                reached[link] = max(part.end, reached.get(link, part.end))


def _with_topics(generation: Generation) -> Generation:
    """A batch whose intent is gone read the same topics as its neighbours: within a generation none is made anew."""
    known = next((batch.topics for batch in generation.batches if batch.topics), None)
    if known is None or all(batch.topics for batch in generation.batches):
        return generation
    whole = (batch if batch.topics else replace(batch, topics=known) for batch in generation.batches)
    return replace(generation, batches=tuple(whole))


def _link(batch: Batch, topic: str, partition: int) -> Link:
    return topic, partition, batch.incarnation(topic)


def _begin(generation: Generation) -> Reached:
    """Where the generation says that it starts, as far as it names partitions."""
    if not generation.batches or not generation.start:
        return {}
    first = generation.batches[0]
    return {_link(first, *place): offset for place, offset in generation.start.items() if offset >= 0}


def _skipped(generation: Generation, at: Reached, before: Reached) -> Iterator[Break]:
    """What a generation leaves out that begins behind the end of the one before it."""
    for link, start in sorted(at.items()):
        if start > before.get(link, start):
            part = Range(link[0], link[1], before[link], start)
            yield Break(part, generation.batches[0], hole=True, between=True)


def _at(part: Range, batch: Batch, here: int | None, earlier: int | None) -> Iterator[Break]:
    """One range against where its generation stands (`here`) and where the ones before it ended (`earlier`)."""
    place = part.topic, part.partition
    if here is not None and part.start > here:
        yield Break(Range(*place, here, part.start), batch, hole=True, between=False)
    elif here is not None and part.start < min(here, part.end):
        yield Break(Range(*place, part.start, min(here, part.end)), batch, hole=False, between=False)
    elif here is None and earlier is not None and part.start > earlier:
        yield Break(Range(*place, earlier, part.start), batch, hole=True, between=True)
    if earlier is not None and part.start < min(part.end, earlier):
        yield Break(Range(*place, part.start, min(part.end, earlier)), batch, hole=False, between=True)
