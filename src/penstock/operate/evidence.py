"""What the sinks themselves say of a pipeline: the newest batch in each, and what it read. Needs no state folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import Refused
from penstock.ledger.standing import is_cluster, label
from penstock.operate.generation import Sinks
from penstock.origin import Origin
from penstock.ranges import Positions
from penstock.sinks.contract import CLOSED, Watermarked, Witness, app_id


@dataclass(frozen=True)
class Sight:
    """One sink of one generation: its newest batch, and what that batch says of itself."""

    sink: Watermarked
    batch_id: int | None
    story: dict[str, Any]
    closed: bool

    def __str__(self) -> str:
        holds = "no batch of it" if self.batch_id is None else f"batch {self.batch_id}"
        return f"{label(self.sink)}: {holds}{' (the generation is closed there)' if self.closed else ''}"


@dataclass(frozen=True)
class Evidence:
    """The sinks of a pipeline under one generation."""

    pipeline: str
    generation: int
    sights: tuple[Sight, ...]

    @property
    def newest(self) -> int | None:
        """The newest batch in any sink."""
        return max((sight.batch_id for sight in self.sights if sight.batch_id is not None), default=None)

    @property
    def holders(self) -> list[Sight]:
        """The sinks that have the newest batch."""
        return [sight for sight in self.sights if sight.batch_id is not None and sight.batch_id == self.newest]

    @property
    def closed(self) -> bool:
        return any(sight.closed for sight in self.sights)

    def lacking(self) -> list[str] | None:
        """The sinks that should have the newest batch and do not; None if nobody says what it held.

        A table is not touched by a batch without rows for it; a cluster's marker moves with every batch. Tables come
        before clusters: where a cluster has the batch, the tables have all that they were to get.
        """
        missing = [sight.sink for sight in self.sights if sight.batch_id != self.newest]
        rows = self._rows()
        if rows is not None:
            return [label(sink) for sink in missing if _given(sink, rows)]
        if any(is_cluster(sight.sink) for sight in self.holders):
            return [label(sink) for sink in missing if is_cluster(sink)]
        return None if missing else []

    def _rows(self) -> dict[str, int] | None:
        """Rows by sink of the newest batch, as the commit of a table tells it; a marker knows only its own."""
        stories = [sight.story for sight in self.holders if not is_cluster(sight.sink) and "sinks" in sight.story]
        return dict(stories[0]["sinks"]) if stories else None

    def digest(self) -> str:
        """What names the newest batch. Refused where two sinks have different batches under one number."""
        digests = {str(sight.story.get("digest")): label(sight.sink) for sight in self.holders if sight.story}
        if len(digests) > 1:
            told = ", ".join(f"{who} has {digest[:12]}" for digest, who in digests.items())
            raise Refused(
                f"{self.pipeline}: the sinks hold different batches under the number {self.newest}: {told}.",
                data="They were written by two pipelines of one name, or from two states. Nothing was changed.",
                remedy="Compare the tables by their lineage columns (_topic, _partition, _offset), set `start` in the "
                "file, and:  penstock new-generation --from source",
            )
        return next(iter(digests), "")

    def end(self) -> Positions | None:
        """Where the newest batch ends, if any sink says so."""
        for sight in self.holders:
            if sight.story.get("ranges"):
                return {(topic, part): end for topic, part, _, end in sight.story["ranges"]}
            if sight.story.get("ends"):
                ends = sight.story["ends"]
                return {(topic, int(part)): end for topic, parts in ends.items() for part, end in parts.items()}
        return None

    def origin(self) -> Origin:
        """Which topics those offsets are in, as far as a table tells it."""
        return next((Origin("", told) for sight in self.holders if (told := sight.story.get("topics"))), Origin())

    def start(self) -> Positions | None:
        """Where the newest batch starts, if any sink says so."""
        for sight in self.holders:
            if sight.story.get("ranges"):
                return {(topic, part): start for topic, part, start, _ in sight.story["ranges"]}
        return None


def _given(sink: Watermarked, rows: dict[str, int]) -> bool:
    """Was the sink to get anything of a batch with these rows?"""
    return any(name in rows and (rows[name] > 0 or is_cluster(sink)) for name in names(sink))


def names(sink: Watermarked) -> Sequence[str]:
    """The sinks of the pipeline that this committer commits."""
    return tuple(getattr(sink, "sinks", (sink.name,)))


def look(pipeline: str, sinks: Sinks, generations: Iterable[int]) -> Evidence:
    """The newest of these generations that left a batch in any sink; the first of them, empty, if none did."""
    first: Evidence | None = None
    for generation in generations:
        found = Evidence(pipeline, generation, tuple(_sight(pipeline, generation, sink) for sink in sinks.values()))
        if found.newest is not None:
            return found
        first = first or found
    return first or Evidence(pipeline, 0, ())


def _sight(pipeline: str, generation: int, sink: Watermarked) -> Sight:
    app = app_id(pipeline, generation, sink.name)
    watermark = sink.watermark(app)
    told = sink.story(app) if watermark is not None and isinstance(sink, Witness) else None
    if told is not None:
        return Sight(sink, told["batch_id"], told, watermark == CLOSED)
    return Sight(sink, None if watermark == CLOSED else watermark, {}, watermark == CLOSED)
