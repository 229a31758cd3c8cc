"""What is said of a batch: in the tables' commits, in the ledger, and to whoever listens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from penstock.clock import Clock
from penstock.errors import Refused, TableChanged
from penstock.ledger.ledger import now
from penstock.ledger.records import Intent, Manifest, Outcome
from penstock.ledger.standing import label
from penstock.observe.events import BatchCommitted, CodeChanged, RecordsLost, TableEvolved, UnknownFields, Warned
from penstock.plan import Plan
from penstock.sinks.contract import Receipt, Watermarked
from penstock.tally import Fates


def story_of(manifest: Manifest, intent: Intent) -> dict[str, Any]:
    """What a table's commit says of the batch, for people and for the audit."""
    return {
        "pipeline": intent.pipeline,
        "generation": intent.generation,
        "batch_id": intent.batch_id,
        "digest": intent.digest,
        "ledger": intent.ledger,
        "read": manifest.read,
        "rejected": dict(manifest.tally.total().rejected),
        "ranges": [[part.topic, part.partition, part.start, part.end] for part in intent.ranges],
        "sinks": {name: frozen.rows for name, frozen in manifest.sinks.items()},
        "topics": intent.origin.topics,
    }


def outcome_of(
    intent: Intent,
    manifest: Manifest,
    receipts: dict[str, Receipt],
    earlier: Outcome | None,
    clock: Clock,
    *,
    replayed: bool,
    clusters: Iterable[str] = (),
) -> Outcome:
    """What the batch came to, with the totals of the generation carried on.

    `clusters` are those that the batch moved a marker on: they have it, with rows or without. A topic has no watermark
    of its own.
    """
    last_written, targets = (dict(earlier.last_written), dict(earlier.targets)) if earlier else ({}, {})
    written = [name for name in receipts if manifest.sinks[name].rows and "table" in manifest.sinks[name].target]
    last_written |= dict.fromkeys([*written, *clusters], intent.batch_id)
    tables = {name: manifest.sinks[name].target.get("table_id") for name in written}
    targets |= {name: str(table) for name, table in tables.items() if table}
    totals = Fates()
    for part in (earlier.totals if earlier else Fates(), manifest.tally.total()):
        totals.add(part)
    return Outcome(
        batch_id=intent.batch_id,
        digest=intent.digest,
        ranges=intent.ranges,
        gaps=manifest.gaps,
        read=manifest.read,
        tally=manifest.tally,
        receipts=receipts,
        last_written=last_written,
        totals=totals,
        committed_at=now(),
        seconds=clock.seconds,
        phases=clock.phases,
        replayed=replayed,
        targets=targets,
    )


def say_other_code(plan: Plan, intent: Intent, manifest: Manifest | None, published: Sequence[Watermarked]) -> None:
    """Say that a batch was begun by other code. Halts where it is half published and nobody froze it.

    The manifest is written before anything is visible, so that can only be if somebody took it away.
    """
    other = intent.fingerprint != plan.fingerprint
    if manifest is None and published and plan.ledger.outcome(intent.batch_id) is None:
        raise _half_published(intent, plan.fingerprint, [label(sink) for sink in published])
    if other:
        finished = manifest is not None
        plan.emit(CodeChanged(pipeline=intent.pipeline, batch_id=intent.batch_id, finished=finished))


@contextmanager
def way_out(intent: Intent) -> Iterator[None]:
    """Adds to an error that only a person can end how to end it: no try will ever finish a half-published batch."""
    try:
        yield
    except TableChanged as error:
        more = (
            f"If other sinks have batch {intent.batch_id} already and the change cannot be undone, say what is to "
            "become of it:  penstock checkpoint rebuild --half skip  (this sink never gets its rows), or  "
            "--half again  (those that have it get them twice)"
        )
        raise TableChanged(error.what, data=error.data, remedy=f"{error.remedy}\n  {more}") from error


def _half_published(intent: Intent, fingerprint: str, at: list[str]) -> Refused:
    code = f"by the code {intent.fingerprint}, and this is {fingerprint}" if intent.fingerprint != fingerprint else ""
    return Refused(
        f"{intent.pipeline}, batch {intent.batch_id}: it is half published ({', '.join(at)} has it) {code}".rstrip()
        + ", and its manifest is gone from the stage folder.",
        data="Computing it again could publish other rows than those that are there: a mixed batch. "
        "Nothing was written.",
        remedy="Restore the stage folder; or see what each sink has and choose:  penstock checkpoint rebuild --dry-run",
    )


def tell(plan: Plan, outcome: Outcome, manifest: Manifest) -> None:
    """The events that a committed batch gives rise to."""
    written = [file for frozen in manifest.sinks.values() for file in frozen.files]
    name = plan.pipeline.name
    if outcome.gaps:
        gaps = tuple(part.to_json() for part in outcome.gaps)
        plan.emit(RecordsLost(pipeline=name, batch_id=outcome.batch_id, gaps=gaps))
    news = {key: count for key, count in outcome.tally.unknown.items() if key not in plan.known_unknown}
    if news:
        plan.known_unknown.update(news)
        plan.emit(UnknownFields(pipeline=name, batch_id=outcome.batch_id, fields=news))
    for sink, receipt in outcome.receipts.items():
        if receipt.added:
            plan.emit(TableEvolved(pipeline=name, sink=sink, columns=receipt.added, version=receipt.version))
        if receipt.notice:
            plan.emit(Warned(pipeline=name, text=f"sink {sink}: {receipt.notice}"))
    plan.emit(committed(name, outcome, files=len(written), size=sum(file.size for file in written)))


def committed(pipeline: str, outcome: Outcome, *, files: int, size: int) -> BatchCommitted:
    """What is told of a batch that is committed; it wrote so many files, of so many bytes together."""
    total = outcome.tally.total()
    return BatchCommitted(
        pipeline=pipeline,
        batch_id=outcome.batch_id,
        read=outcome.read,
        written=max(total.written.values(), default=0),
        rejected=total.by_code(),
        dropped=dict(total.dropped),
        seconds=outcome.seconds,
        phases=outcome.phases,
        sinks={name: _told(receipt) for name, receipt in outcome.receipts.items()},
        warned=dict(total.warned),
        not_routed={sink: count for sink, count in total.not_routed.items() if count},
        replayed=outcome.replayed,
        files=files,
        bytes=size,
    )


def _told(receipt: Receipt) -> dict[str, Any]:
    return {"version": receipt.version, "rows": receipt.rows, "seconds": receipt.seconds}
