"""How a sink stands against the ledger: ahead, behind, closed, another one, undone, or as it should be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from penstock.errors import Refused
from penstock.ledger.records import Outcome
from penstock.sinks.contract import Undone, Watermarked, Witness, app_id

NOTHING = "Nothing was written."
MARKER_LIFE = timedelta(days=6)
"""Kafka forgets a group's offsets after seven days, by default; a missing marker this old may have expired."""
GENERATIONS = 8
"""So many generations without a trace, and there is no newer one: a sink may have joined late."""


def label(sink: Watermarked) -> str:
    """The sink as people call it."""
    return f"topics of cluster {sink.name}" if is_cluster(sink) else f"sink {sink.name}"


def noun(sink: Watermarked) -> str:
    return "the cluster" if is_cluster(sink) else "the table"


def is_cluster(sink: Watermarked) -> bool:
    """Does it commit to topics? Then its marker moves with every batch, and can expire."""
    return hasattr(sink, "sinks")


def newest_generation(pipeline: str, sink: Watermarked) -> tuple[int, int] | None:
    """The newest generation of the pipeline that left anything in the sink, and its last batch."""
    generation, found = 1, None
    while generation <= (found[0] if found else 0) + GENERATIONS:
        batch_id = sink.watermark(app_id(pipeline, generation, sink.name))
        if batch_id is not None:
            found = generation, batch_id
        generation += 1
    return found


def not_behind(pipeline: str, sink: Watermarked, app: str, last: Outcome | None, afresh: str) -> None:
    """Refuse a sink that has less than the ledger says it was given, or whose content was replaced since.

    Asked before the first batch and before each one: a batch that is committed on top would hide it.
    """
    written = last.last_written.get(sink.name) if last else None
    if last is None or written is None:
        return
    watermark = sink.watermark(app)
    if watermark is None or watermark < written:
        raise _behind(pipeline, sink, watermark, last, afresh)
    if isinstance(sink, Witness):
        for found in sink.undone(app):
            raise _undone(pipeline, sink, written, found, afresh)


def not_undone(pipeline: str, sink: Watermarked, app: str, last: Outcome | None, afresh: str) -> None:
    """Refuse a table whose content was replaced since our last batch, or that is another one by now."""
    written = last.last_written.get(sink.name) if last else None
    if last is None or written is None or not isinstance(sink, Witness):
        return
    known, now = last.targets.get(sink.name), sink.identity()
    if known and now["id"] and known != now["id"]:
        raise Refused(
            f"{pipeline}, {label(sink)}: {now['target']} is another table (id {now['id']}) than the one that holds "
            f"the batches up to {written} (id {known}).",
            data=f"It was replaced, or the file names another one now; its earlier rows are not in it. {NOTHING}",
            remedy=f"Name the table that it was; or start afresh, with what is in this one:  {afresh}",
        )
    for found in sink.undone(app):
        raise _undone(pipeline, sink, written, found, afresh)


def ours(pipeline: str, sink: Watermarked, app: str, ledger: str, state: str, afresh: str) -> None:
    """Refuse a sink whose batches under our name are those of another pipeline's ledger."""
    told = sink.story(app) if isinstance(sink, Witness) else None
    other = told.get("ledger") if told else None
    if told and other and ledger and other != ledger:
        raise Refused(
            f"{pipeline}, {label(sink)}: batch {told['batch_id']} was committed by another pipeline of the same name "
            f"(its ledger has the id {other}; the one in {state} has {ledger}).",
            data=f"Two pipelines under one name take one another's batches for done, and lose rows. {NOTHING}",
            remedy="Give one of them another name (`pipeline:`), or stop the other for good and take over from what "
            f"is there:  {afresh}",
        )


def closed(pipeline: str, sink: Watermarked, generation: int, afresh: str) -> Refused:
    return Refused(
        f"{pipeline}, {label(sink)}: generation {generation} is closed in {noun(sink)}, and the state folder has no "
        "newer one.",
        data="A new generation was begun and not finished, or it was opened from another state folder. "
        f"No batch of generation {generation} can be committed any more. {NOTHING}",
        remedy="If no other state folder has a newer generation, finish what was begun (the same verb that was used, "
        f"for example):  {afresh}",
    )


def _behind(pipeline: str, sink: Watermarked, watermark: int | None, last: Outcome, afresh: str) -> Refused:
    written = last.last_written[sink.name]
    if watermark is None and is_cluster(sink):
        return _no_marker(pipeline, sink, last, afresh)
    has = "has none of this pipeline" if watermark is None else f"ends at batch {watermark}"
    return Refused(
        f"{pipeline}, {label(sink)}: the ledger says that it holds batch {written}, but {noun(sink)} {has}.",
        data=f"It was dropped, replaced or restored; going on would leave a hole. {NOTHING}",
        remedy=f"Bring it back, or start afresh and keep what is there:  {afresh}",
    )


def _no_marker(pipeline: str, sink: Watermarked, last: Outcome, afresh: str) -> Refused:
    age = datetime.now(UTC) - datetime.fromisoformat(last.committed_at)
    expired = age > MARKER_LIFE
    why = (
        f"The last batch is {age.days} days old, and Kafka forgets a group's offsets after seven: the marker expired."
        if expired
        else "It was deleted: the group, or the topic penstock-markers; or the brokers are another cluster."
    )
    return Refused(
        f"{pipeline}, {label(sink)}: the ledger says that batch {last.last_written[sink.name]} is there, but the "
        f"marker {'has expired' if expired else 'is gone'}.",
        data=f"{why} Whether a batch is there can no longer be seen on the broker. {NOTHING}",
        remedy=f"Start afresh under a new marker, and keep the topics:  {afresh}",
    )


def _undone(pipeline: str, sink: Watermarked, written: int, found: Undone, afresh: str) -> Refused:
    return Refused(
        f"{pipeline}, {label(sink)}: {noun(sink)} was given batch {written}, but {found.words}.",
        data=f"Its transaction ids were not taken back, so no batch would be written again by itself. {NOTHING}",
        remedy="Bring its rows back (RESTORE to a version that has them); or accept the table as it is, and start "
        f"afresh:  {afresh}",
    )
