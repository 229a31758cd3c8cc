"""Batches and the ledger, as the API answers them."""

from __future__ import annotations

import json
from typing import Any, Literal

from penstock import files
from penstock.errors import Refused
from penstock.ledger.ledger import Ledger
from penstock.ledger.shelf import Record, Shelf
from penstock.tally import Fates, Tally
from penstock.ui.books import Books, offsets_in, row_of, seconds_of, unreadable
from penstock.ui.models import (
    Batch,
    Batches,
    BatchRow,
    Committed,
    Entry,
    Identity,
    LedgerPage,
    Marker,
    PartRange,
    Writes,
)

Stage = Literal["committed", "frozen", "begun"]


def batches_of(books: Books, generation: int | None, before: int | None, limit: int) -> Batches | None:
    """A page of batches, the newest first; None where there is no such generation."""
    ledger = books.ledger(generation)
    if ledger is None:
        empty = Batches(generation=None, generations=[], total=0, batches=[], open=None, next=None)
        return empty if generation is None else None
    rows = books.page(ledger, limit, before)
    last = ledger.closed.last
    more = rows[-1].batch_id if len(rows) == limit and rows[-1].batch_id > 0 else None
    return Batches(
        generation=ledger.generation,
        generations=books.generations(),
        total=0 if last is None else last + 1,
        batches=rows,
        open=books.open_batch(ledger) if before is None else None,
        next=more,
    )


def batch_of(books: Books, generation: int | None, batch_id: int) -> Batch | None:
    """One batch, whole: what it meant to do and what it came to."""
    ledger = books.ledger(generation)
    if ledger is None:
        return None
    (intent, wrong), (outcome, worse) = _read(ledger.intents, batch_id), _read(ledger.closed, batch_id)
    if intent is None and outcome is None:
        return _damaged(ledger, batch_id, worse or wrong) if worse or wrong else None
    told, ranges = outcome or intent or {}, (outcome or intent or {})["ranges"]
    total = Tally.total_in(outcome["tally"]) if outcome else Fates()
    row = row_of(outcome) if outcome else _unfinished(batch_id, worse)
    return Batch(
        **row.model_dump(exclude={"trouble"}),
        trouble=worse or wrong,
        generation=ledger.generation,
        begun_at=(intent or {}).get("created_at", ""),
        run=(intent or {}).get("run", ""),
        digest=told.get("digest", ""),
        fingerprint=(intent or {}).get("fingerprint", ""),
        offsets=offsets_in(ranges),
        ranges=_ranges(ranges, outcome),
        sinks=_sinks(outcome, books.identity(ledger.generation)) if outcome else [],
        rejected_by=total.by_code(),
        dropped_by=dict(total.dropped),
        warned_by=dict(total.warned),
        not_routed_by={sink: count for sink, count in total.not_routed.items() if count},
        gaps=[PartRange(**part, seen=None, rejected=0) for part in outcome["gaps"]] if outcome else [],
        stage=_stage(books, ledger, batch_id, committed=outcome is not None),
    )


def _read(shelf: Shelf, number: int) -> tuple[Record | None, str]:
    try:
        return shelf.get(number), ""
    except Refused as error:
        return None, str(error)


def _unfinished(batch_id: int, trouble: str) -> BatchRow:
    return unreadable(batch_id, Refused(trouble or "This batch was begun and is not committed."))


def _damaged(ledger: Ledger, batch_id: int, trouble: str) -> Batch:
    empty: dict[str, Any] = {name: {} for name in ("rejected_by", "dropped_by", "warned_by", "not_routed_by")}
    texts = dict.fromkeys(("begun_at", "run", "digest", "fingerprint"), "")
    row = unreadable(batch_id, Refused(trouble)).model_dump()
    return Batch(
        **row, **empty, **texts,
        generation=ledger.generation, offsets=0, ranges=[], sinks=[], gaps=[], stage="begun",
    )  # fmt: skip


def _stage(books: Books, ledger: Ledger, batch_id: int, *, committed: bool) -> Stage:
    if committed:
        return "committed"
    return "frozen" if books.frozen(ledger, batch_id) else "begun"


def _ranges(ranges: list[dict[str, Any]], outcome: Record | None) -> list[PartRange]:
    known = {(part["topic"], part["partition"]): part for part in outcome["tally"]["partitions"]} if outcome else {}
    made = []
    for part in ranges:
        fates = known.get((part["topic"], part["partition"]))
        refused = sum(sum(codes.values()) for codes in fates["refused"].values()) if fates else 0
        rejected = sum(fates["rejected"].values()) + refused if fates else 0
        seen = (fates["seen"] if fates else 0) if outcome else None
        made.append(PartRange(**part, seen=seen, rejected=rejected))
    return made


def _sinks(outcome: Record, identity: Record) -> list[Committed]:
    targets = {each.sink: each for each in writes_of(identity)}
    return [
        Committed(
            sink=name,
            sort=targets[name].committer if name in targets else "",
            target=targets[name].target if name in targets else "",
            version=receipt["version"],
            rows=receipt["rows"],
            how=receipt["how"],
            added=list(receipt["added"]),
            seconds=receipt.get("seconds"),
        )
        for name, receipt in outcome["receipts"].items()
    ]


def writes_of(identity: Record) -> list[Writes]:
    """Where a generation writes, by sink. A Kafka cluster stands for each of its topics."""
    made = []
    for name, sink in (identity.get("sinks") or {}).items():
        committer, target, number = str(sink.get("committer", "")), sink.get("target"), str(sink.get("id") or "")
        parts = target.items() if isinstance(target, dict) else [(name, target)]
        made += [Writes(sink=str(part), committer=committer, target=str(to), id=number) for part, to in parts]
    return made


def ledger_of(books: Books, generation: int | None, before: int | None, limit: int) -> LedgerPage | None:
    """What the ledger holds: who it is, and its newest entries."""
    ledger = books.ledger(generation)
    if ledger is None:
        empty = LedgerPage(generations=[], identity=None, entries=[], markers=[], next=None, trouble="")
        return empty if generation is None else None
    try:
        identity, trouble = books.identity(ledger.generation), ""
    except Refused as error:
        identity, trouble = {}, str(error)
    numbers = ledger.intents.newest(limit, before)
    return LedgerPage(
        generations=books.generations(),
        identity=_identity(identity) if identity else None,
        entries=[_entry(books, ledger, number) for number in numbers],
        markers=_markers(ledger),
        next=numbers[-1] if len(numbers) == limit and numbers[-1] > 0 else None,
        trouble=trouble,
    )


def _entry(books: Books, ledger: Ledger, batch_id: int) -> Entry:
    intent, wrong = _read(ledger.intents, batch_id)
    outcome, worse = _read(ledger.closed, batch_id)
    intent = intent or {}
    return Entry(
        batch_id=batch_id,
        begun_at=intent.get("created_at", ""),
        run=intent.get("run", ""),
        fingerprint=intent.get("fingerprint", ""),
        digest=intent.get("digest", ""),
        offsets=offsets_in(intent.get("ranges", [])),
        stage=_stage(books, ledger, batch_id, committed=outcome is not None),
        committed_at=seconds_of(outcome["committed_at"]) if outcome else None,
        how={name: receipt["how"] for name, receipt in outcome["receipts"].items()} if outcome else {},
        trouble=wrong or worse,
    )


def _identity(body: Record) -> Identity:
    source = body.get("source") or {}
    start = body.get("start")
    return Identity(
        pipeline=body["pipeline"],
        generation=body["generation"],
        id=str(body.get("id", "")),
        created_at=body.get("created_at", ""),
        version=body.get("version", ""),
        start="" if start is None else start if isinstance(start, str) else json.dumps(start),
        cluster=str(source.get("cluster", "")),
        topics={str(name): str(number) for name, number in (source.get("topics") or {}).items()},
        sinks=writes_of(body),
    )


def _markers(ledger: Ledger) -> list[Marker]:
    made = []
    for path in sorted(files.listed(ledger.folder / "markers"), key=str):
        body = files.read_json(path) or {}
        made.append(
            Marker(
                cluster=path.name.removesuffix(".json"),
                marker=str(body.get("marker", "")),
                begun_at=str(body.get("begun_at", "")),
            )
        )
    return made
