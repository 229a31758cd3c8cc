"""Every batch's commit is in the table once, with the right digest and the right number of rows."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.counting import counted
from penstock.operate.audit.books import Batch
from penstock.operate.audit.findings import Finding, off_by
from penstock.operate.audit.history import Commit
from penstock.operate.audit.scope import DEEP
from penstock.operate.audit.tablelog import TableLog
from penstock.operate.audit.told import Told


def commit_findings(log: TableLog) -> Iterator[Finding]:
    """What is wrong with the commits of the batches in question."""
    cleaned: list[Batch] = []
    for batch in log.scope.judged:
        if batch.told is None or log.sink not in batch.told.versions:
            continue
        if batch.sound and batch.told.rows(log.sink) and batch.key not in log.by_key and not log.reaches(batch):
            cleaned.append(batch)
        else:
            yield from _batch(log, batch, batch.told)
    if cleaned:
        yield _cleaned(log, cleaned)


def forged(log: TableLog, what: str, commit: Commit) -> Finding:
    """A commit under a key of ours that penstock did not write."""
    rows = commit.rows or 0
    full = f"{what}: penstock did not write it ({counted(rows, 'row')})."
    return Finding("doubled" if rows else "unproven", full, log.sink, rows, log.look)


def _batch(log: TableLog, batch: Batch, told: Told) -> Iterator[Finding]:
    where, expected = f"sink {log.sink}, {log.scope.name(batch.key)}", told.rows(log.sink)
    found = log.by_key.get(batch.key, [])
    ours = [commit for commit in found if commit.story.get("digest") == batch.digest]
    counting = [commit for commit in ours if log.counts(commit)]
    for commit in found:
        if commit not in ours and log.counts(commit):
            yield forged(log, f"{where}: {commit.named} has its key, but another digest", commit)
    if not batch.sound:
        return  # its counts say nothing
    if not counting and expected:
        yield _missing(log, where, told.records(log.sink), undone=ours)
    for again in counting[1:]:
        what = f"{where}: committed by version {counting[0].version}, and once more by version {again.version}."
        yield Finding("doubled", what, log.sink, again.rows or 0, rows_decide=True)
    if counting:
        yield from _rows(log, where, counting[0], expected)


def _cleaned(log: TableLog, batches: list[Batch]) -> Finding:
    """Delta cleans its log after 30 days, by default; what is gone from it can be neither proved nor denied."""
    records = sum(batch.told.records(log.sink) for batch in batches if batch.told)
    names = f"{log.scope.name(batches[0].key)} to {log.scope.name(batches[-1].key)}"
    what = f"sink {log.sink}: the table's log begins at version {log.history.first}, and the commits of {names} "
    remedy = f"{DEEP}  or judge what the log still has:  --since"
    return Finding("unproven", f"{what}were before it.", log.sink, records, remedy, rows_decide=True)


def _missing(log: TableLog, where: str, records: int, undone: list[Commit]) -> Finding:
    gone = counted(records, "record")
    if undone:
        what = f"{where}: a RESTORE undid its commit of version {undone[-1].version}, with {gone}."
        back = f"Bring them back:  RESTORE TABLE delta.`{log.snapshot.table}` TO VERSION AS OF {log.last_undone}"
        return Finding("lost", what, log.sink, records, back, rows_decide=True)
    what = f"{where}: the ledger says {gone}, and the table's log has no such commit."
    return Finding("lost", what, log.sink, records, "Restore the table from a backup.", rows_decide=True)


def _rows(log: TableLog, where: str, commit: Commit, expected: int) -> Iterator[Finding]:
    rows, told = commit.rows, commit.story.get("rows")
    if told != expected:
        what = f"{where}: version {commit.version} says {told} rows, the ledger {expected}: one of them was edited."
        yield Finding("unproven", what, log.sink, remedy=DEEP, rows_decide=True)
    elif rows is None:
        what = f"{where}: the files of version {commit.version} do not say how many rows they hold."
        yield Finding("unproven", what, log.sink, expected, DEEP, rows_decide=True)
    elif rows != expected:
        what = f"{where}: it wrote {counted(expected, 'row')}, and the files of version {commit.version} hold {rows:,}."
        yield off_by(rows - expected, what, log.sink)
