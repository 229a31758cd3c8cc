"""A look at one sink: its account by the ledger, what its commits say, and a reader for its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from penstock.operate.audit.accounts import account_of
from penstock.operate.audit.commits import commit_findings
from penstock.operate.audit.deep import RowReader
from penstock.operate.audit.findings import Finding
from penstock.operate.audit.lineage import Reader
from penstock.operate.audit.others import other_findings
from penstock.operate.audit.scope import Scope
from penstock.operate.audit.snapshot import Snapshot, Unreadable
from penstock.operate.audit.standing import file_findings
from penstock.operate.audit.tablelog import TableLog
from penstock.operate.audit.told import is_letters
from penstock.operate.audit.verdict import Account


@dataclass
class Look:
    """One sink that was looked at."""

    account: Account
    log: TableLog | None = None
    """Where it is a table that can be read."""
    reader: RowReader | None = None
    excuse: str = ""
    """Why records may rightly be gone from it, where the table or the topic cannot tell."""
    findings: list[Finding] = field(default_factory=list)

    def enter(self, finding: Finding) -> None:
        """Enter a finding into the account."""
        if finding.kind == "lost":
            self.account.lost += finding.count
        elif finding.kind == "doubled":
            self.account.doubled += finding.count
        elif finding.by_owner:
            self.account.deleted_by_owner += finding.count


def look_at_table(name: str, folder: Callable[[], str], scope: Scope) -> Look:
    """The commits and files of a table, compared with the ledger. `folder` says where it is, or raises Unreadable."""
    look = Look(account_of(name, scope.judged))
    expected = sum(batch.told.rows(name) for batch in scope.judged if batch.told and name in batch.told.versions)
    try:
        snapshot = Snapshot(folder(), _first_version(name, scope))
    except Unreadable as error:
        if expected:
            what = f"sink {name}: {error}; the ledger says that it was given {expected:,} rows."
            remedy = "Bring the table back from a backup. What it had can be read again from the topics."
            look.findings.append(Finding("unproven", what, name, expected, remedy))
        return look
    log = look.log = TableLog(name, snapshot, scope)
    look.findings += [*_same_table(log), *commit_findings(log), *other_findings(log), *file_findings(log)]
    look.reader = Reader(snapshot, scope.books.pipeline, letters=is_letters(name))
    return look


def _first_version(sink: str, scope: Scope) -> int:
    """From which version of a table on its log matters."""
    told = (batch.told for batch in scope.judged if batch.told)
    versions = [each.versions[sink] for each in told if sink in each.versions]
    return max(0, min(versions, default=0)) if scope.since else 0


def _same_table(log: TableLog) -> Iterator[Finding]:
    """The table under this name is the one that the batches were written to."""
    last = next((batch for batch in reversed(log.scope.judged) if batch.told), None)
    known = last.told.targets.get(log.sink) if last and last.told else None
    if known and known != log.snapshot.id:
        what = f"sink {log.sink}: {log.snapshot.table} is another table now (id {log.snapshot.id}, was {known})."
        yield Finding("unproven", what, log.sink, remedy="Bring back the one that it was.")
