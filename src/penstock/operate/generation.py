"""A new generation: start afresh under new idempotence keys, and keep tables and topics.

The old generation is closed first, in every sink, so that a driver left over from it can commit nothing. A crash in
between leaves a state that `run` refuses and that the same verb finishes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.errors import Refused
from penstock.files import Place, move
from penstock.ledger.checkpoint import Checkpoint
from penstock.ledger.lease import lease
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Outcome
from penstock.ledger.standing import is_cluster, label, newest_generation
from penstock.origin import Origin, recreated
from penstock.ranges import Positions
from penstock.sinks.contract import CLOSED, Watermarked, Witness, WriteKey, app_id
from penstock.sinks.kafka.committer import KafkaCommitter

Sinks = Mapping[str, Watermarked]
Ids = Callable[[Iterable[str]], Origin]
"""Asks the source which topics these names are now."""


@dataclass(frozen=True)
class Going:
    """Where a new generation goes on, and in which topics those offsets are."""

    start: Positions | None
    """None: where the pipeline file says."""
    origin: Origin = field(default_factory=Origin)


@dataclass(frozen=True)
class Opened:
    """What the verb did."""

    old: int
    new: int
    start: Positions | None
    """Where the new generation goes on, or None: where the pipeline file says."""


def new_generation(
    pipeline: str, state: Place, sinks: Sinks, begin: Literal["last", "source"], run: str, ids: Ids | None = None
) -> Opened:
    """Close the newest generation in every sink and open the next one. `ids` tells topics that were made anew."""
    with lease(state / "lease", pipeline, run):
        make_ready(sinks)
        ledger = Ledger.find(state, pipeline, run)
        old = newest(pipeline, ledger, sinks)
        going = _goes_on_at(pipeline, ledger, sinks, ids) if begin == "last" else Going(None)
        close_all(pipeline, sinks, old)
        if begin == "last":  # once more: until it was closed, a driver left over could finish a batch
            going = _goes_on_at(pipeline, ledger, sinks, ids)
        return open_next(pipeline, state, old, going, run)


def make_ready(sinks: Sinks) -> None:
    """A cluster's markers need their topic, to be read and to be closed."""
    for sink in sinks.values():
        if is_cluster(sink) and isinstance(sink, Witness):
            sink.ready()


def newest(pipeline: str, ledger: Ledger | None, sinks: Sinks) -> int:
    """The newest generation that the ledger or any sink knows of; 0 if there is none."""
    found = [newest_generation(pipeline, sink) for sink in sinks.values()]
    return max([ledger.generation if ledger else 0, *(generation for generation, _ in filter(None, found))])


def last_batch(pipeline: str, generation: int, sink: Watermarked) -> int | None:
    """The newest batch of this generation in the sink, closed or not; None if there is none, or none can be seen."""
    app = app_id(pipeline, generation, sink.name)
    watermark = sink.watermark(app)
    if watermark != CLOSED:
        return watermark
    told = sink.story(app) if isinstance(sink, Witness) else None
    return told["batch_id"] if told else None


def close_all(pipeline: str, sinks: Sinks, old: int) -> None:
    """From here on nobody can commit a batch of this generation, or of an older one."""
    for sink in sinks.values():
        for generation in range(1, old + 1):
            sink.close(WriteKey(pipeline, generation, sink.name, CLOSED, ""))


def open_next(pipeline: str, state: Place, old: int, going: Going, run: str) -> Opened:
    """Set the old checkpoint aside and open the next generation."""
    _set_aside(state / "spark", state / f"spark.g{old}")
    Ledger(state, pipeline, old + 1, run).open(going.start, {"source": going.origin.to_json()})
    return Opened(old, old + 1, going.start)


def without_recreated(start: Positions, was: Origin, ids: Ids | None) -> Going:
    """`start` but for topics that were made anew since: those are read from their first record."""
    anew = recreated(was, ids(was.topics)) if ids and was.topics else []
    same = {topic: known for topic, known in was.topics.items() if topic not in anew}
    return Going({part: offset for part, offset in start.items() if part[0] not in anew}, Origin(was.cluster, same))


def _goes_on_at(pipeline: str, ledger: Ledger | None, sinks: Sinks, ids: Ids | None) -> Going:
    """The end of the last batch that every sink has; where the generation starts, if it has no batch yet."""
    if ledger is None:
        raise Refused(
            f"{pipeline}: there is no ledger in the state folder, so where to go on cannot be known from it.",
            data="Nothing was changed.",
            remedy="Go on where the sinks end:  penstock checkpoint rebuild\n"
            "  Or start where the pipeline file says; rows that are read again will be in the tables twice:  "
            "--from source",
        )
    last = ledger.last_outcome()
    _nothing_half_published(pipeline, ledger, last, sinks)
    start = last.end if last else ledger.open()
    if start is None:
        raise Refused(
            f"{pipeline}: the ledger knows of no finished batch, so where to go on cannot be known.",
            data="Nothing was changed.",
            remedy="Start where the pipeline file says:  --from source",
        )
    return without_recreated(start, ledger.origin, ids)


def _nothing_half_published(pipeline: str, ledger: Ledger, last: Outcome | None, sinks: Sinks) -> None:
    done = last.batch_id if last else -1
    for sink in sinks.values():
        there = last_batch(pipeline, ledger.generation, sink)
        if there is not None and there > done:
            raise Refused(
                f"{pipeline}, {label(sink)}: it holds batch {there}, and the ledger ends at "
                f"{f'batch {done}' if last else 'no batch'}: a batch is half published.",
                data="Going on after the ledger's last batch would write its rows twice. Nothing was opened.",
                remedy="Let it finish first:  penstock run --once\n"
                "  If it cannot run, finish it from what was frozen:  penstock checkpoint rebuild\n"
                "  If it cannot be finished, say what is to become of it:  penstock checkpoint rebuild --half skip  "
                "(the sinks that lack it never get its rows), or  --half again  (those that have it get them twice)",
            )
    no_marker_lost(pipeline, ledger, last, sinks)


def no_marker_lost(pipeline: str, ledger: Ledger, last: Outcome | None, sinks: Sinks) -> None:
    """Refuse where a batch was begun, and the marker that would say whether the topics have it is gone."""
    begun, done = ledger.intents.last, last.batch_id if last else -1
    for sink in sinks.values():
        known = (last is not None and sink.name in last.last_written) or ledger.has_begun(sink.name)
        there = not isinstance(sink, KafkaCommitter) or sink.has_marker(app_id(pipeline, ledger.generation, sink.name))
        if known and not there and begun is not None and begun > done:
            raise Refused(
                f"{pipeline}, {label(sink)}: batch {begun} was begun and has no outcome, and the marker is gone: "
                "whether its records are in the topics cannot be seen.",
                data="Going on could lose or double that batch. Nothing was changed.",
                remedy="Look at the newest records of the topics: the header penstock.offset says how far they are. "
                f"Then say so in `start`, and:  --from source  (batch {begun} reads {_said(ledger, begun)})",
            )


def _said(ledger: Ledger, batch_id: int) -> str:
    intent = ledger.intent(batch_id)
    parts = intent.ranges if intent else ()
    return ", ".join(f"{part.topic}-{part.partition} {part.start} to {part.end}" for part in parts)


def _set_aside(checkpoint: Place, aside: Place) -> None:
    if Checkpoint(checkpoint).exists or checkpoint.exists():
        number = 0
        while aside.exists():
            number += 1
            aside = aside.with_name(f"{aside.name.split('~')[0]}~{number}")
        move(checkpoint, aside)
