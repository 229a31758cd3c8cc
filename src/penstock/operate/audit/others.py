"""Commits that the ledger does not know: under a key of ours, by the table's owner, by another writer."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.counting import counted
from penstock.operate.audit.aftermath import Change
from penstock.operate.audit.books import Key
from penstock.operate.audit.commits import forged
from penstock.operate.audit.counts import Territory
from penstock.operate.audit.findings import MOST_EXAMPLES, Finding, listed, off_by
from penstock.operate.audit.history import Commit
from penstock.operate.audit.lineage import Reader
from penstock.operate.audit.scope import DEEP
from penstock.operate.audit.tablelog import TableLog
from penstock.operate.audit.told import is_letters
from penstock.sinks.contract import app_id

OLDER = (
    "The state is older than the table, or was deleted. Restore the newest state, or judge later batches only:  --since"
)


def other_findings(log: TableLog) -> Iterator[Finding]:
    """What others did to the table, and whether its memory of us is whole."""
    yield from _unknown(log)
    yield from _watermark(log)
    for change in log.aftermath.uneven:
        removed, added = change.removed or 0, change.added or 0
        what = f"sink {log.sink}: {change.commit.named} moved {removed:,} rows and wrote {added:,}."
        yield off_by(added - removed, what, log.sink)
    for change in log.aftermath.changes:
        if change.touches_us and not (log.scope.since and change.origins.isdisjoint(log.scope.keys)):
            yield _declared(log, change) if change.commit.declared else _undeclared(log, change)
    for commit in log.aftermath.appends:
        if log.aftermath.holds(commit) and commit.rows != 0:
            yield _appended(log, commit, commit.rows or 0)


def _unknown(log: TableLog) -> Iterator[Finding]:
    """Commits under our keys, of batches without an outcome."""
    books = log.scope.books
    known = {generation.number for generation in books.generations}
    forgotten: dict[int, list[Commit]] = {}
    for key, commits in sorted(log.by_key.items()):
        if key in log.scope.keys or key in log.scope.earlier or (log.scope.since and key[0] < books.newest):
            continue
        for commit in filter(log.counts, commits):
            if key[0] < books.newest and key[0] not in known and books.from_story(key, commit.story):
                forgotten.setdefault(key[0], []).append(commit)
            else:
                yield from _stranger(log, key, commit)
    for generation, commits in sorted(forgotten.items()):
        yield _forgotten(log, generation, commits)


def _stranger(log: TableLog, key: Key, commit: Commit) -> Iterator[Finding]:
    books = log.scope.books
    intent = books.intent(*key)
    if intent is not None and intent.digest == commit.story.get("digest"):
        return  # in flight, or finished since the ledger was read
    where, batch = f"sink {log.sink}: {commit.named}", log.scope.name(key)
    if books.from_story(key, commit.story) is None:
        yield forged(log, f"{where} has the key of {batch}, which the ledger does not know", commit)
        return
    rows = commit.rows or 0
    what = f"{where} is {batch}, of which the ledger knows nothing ({counted(rows, 'row')})."
    yield Finding("unproven", what, log.sink, rows, OLDER)


def _forgotten(log: TableLog, generation: int, commits: list[Commit]) -> Finding:
    """The state was lost once, and the ledger begins with a later generation."""
    rows = sum(commit.rows or 0 for commit in commits)
    what = f"sink {log.sink}: generation {generation} left {counted(len(commits), 'batch', 'batches')} "
    more = f"({counted(rows, 'row')}), and its ledger is gone."
    return Finding("unproven", what + more, log.sink, rows, "Judge what the ledger has:  --since 0")


def _watermark(log: TableLog) -> Iterator[Finding]:
    """The table's own memory of the last batch: without it a replay would not be recognised."""
    last = next((batch for batch in reversed(log.scope.judged) if batch.sound), None)
    expected = last.told.last_written.get(log.sink) if last and last.told else None
    if last is None or expected is None:
        return
    seen = log.snapshot.watermark(app_id(log.scope.books.pipeline, last.generation, log.sink))
    if seen is None or seen < expected:
        found = "none of this pipeline" if seen is None else f"batch {seen} as the last"
        what = f"sink {log.sink}: the ledger says that the table has batch {expected}; the table knows {found}."
        remedy = "Do not go on as it is: a batch that comes again would not be recognised."
        yield Finding("unproven", what, log.sink, remedy=remedy)


def _declared(log: TableLog, change: Change) -> Finding:
    gone, more = change.gone, (change.added or 0) - (change.removed or 0)
    took = "changed rows" if gone is None else f"removed {counted(gone, 'row')}"
    if gone == 0 and more > 0:
        took = f"added {counted(more, 'row')}"
    what = f"sink {log.sink}: the owner's {change.commit.operation} of version {change.commit.version} {took}."
    return Finding("note", what, log.sink, gone or 0, by_owner=True, rows_decide=True)


def _undeclared(log: TableLog, change: Change) -> Finding:
    gone = change.gone or 0
    what = f"sink {log.sink}: {change.commit.named} took away {counted(gone, 'row')} and does not say why."
    return Finding("lost", what, log.sink, gone, log.look, rows_decide=True)


def _appended(log: TableLog, commit: Commit, rows: int) -> Finding:
    """Rows of another writer. Those few files are read: rows that name offsets which we read are copies."""
    what = f"sink {log.sink}: {commit.named} is not penstock's and added {counted(rows, 'row')}."
    if not any(_claims(log, add.span) for add in commit.adds):
        return Finding("note", what + " They are not counted.", log.sink, rows)
    names = _copies(log, commit)
    if names is None:
        more = " They name offsets that this pipeline read, and lie in other files by now: they may be copies."
        return Finding("unproven", what + more, log.sink, rows, DEEP, rows_decide=True)
    if not names:
        return Finding("note", what + " They are not counted.", log.sink, rows)
    told = f"{what} {counted(len(names), 'of them names', 'of them name')} offsets that this pipeline read"
    if log.aftermath.changes:
        more = ": copies, unless they stand for rows that the owner had deleted."
        return Finding("unproven", told + more, log.sink, len(names), DEEP, names[:MOST_EXAMPLES], rows_decide=True)
    full = f"{told}: {listed(names)}."
    return Finding("doubled", full, log.sink, len(names), log.look, names[:MOST_EXAMPLES], rows_decide=True)


def _claims(log: TableLog, span: tuple[int, int] | None) -> bool:
    """Does a file say that it holds rows of offsets that we read?"""
    ranges = (part for batch in log.scope.judged for part in batch.ranges)
    return span is not None and any(part.start <= span[1] and span[0] < part.end for part in ranges if len(part))


def _copies(log: TableLog, commit: Commit) -> tuple[str, ...] | None:
    """The rows of this commit that name offsets of batches in question; None if its files are gone."""
    judged = Territory(log.scope.judged)
    reader = Reader(log.snapshot, log.scope.books.pipeline, letters=is_letters(log.sink))
    pieces = reader.of_files([add.path for add in commit.adds])
    if pieces is None:
        return None
    found: list[tuple[str, int, int]] = []
    for piece in pieces:
        outside = set(judged.outside((piece.topic, piece.partition), piece.offsets).tolist())
        found += [(piece.topic, piece.partition, at) for at in piece.offsets.tolist() if at not in outside]
    return tuple(f"{topic}-{partition}-{at}" for topic, partition, at in sorted(found))
