"""The audit of a pipeline: ledger, tables' histories, files, and (deep) every row, compared with one another.

Nothing is written and nothing is held: it works while the pipeline runs and after its death. The ledger is read
first, then the tables; what was committed in between is recognised by its intent and not judged.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from penstock.engine.state import place_of
from penstock.errors import PenstockError
from penstock.operate.audit.accounts import in_any_sink, totals
from penstock.operate.audit.books import Batch, Books, Key
from penstock.operate.audit.counts import Territory
from penstock.operate.audit.deep import Deep, RowReader
from penstock.operate.audit.entries import Entries
from penstock.operate.audit.findings import Finding, listed
from penstock.operate.audit.ledgered import all_breaks, break_findings, gaps_noted, ledger_findings
from penstock.operate.audit.look import Look, look_at_table
from penstock.operate.audit.scope import Scope
from penstock.operate.audit.since import Since
from penstock.operate.audit.told import is_letters
from penstock.operate.audit.topic_looks import look_at_topics, topic_sinks
from penstock.operate.audit.verdict import Verdict
from penstock.operate.audit.where import folder_of
from penstock.worker.desk import DEAD_LETTERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline import Pipeline


class WrongCall(PenstockError):
    """The audit was asked for something that is not there."""

    exit_code = 2


def audit(
    pipeline: Pipeline,
    *,
    deep: bool = False,
    since: str | None = None,
    sink: str | None = None,
    spark: SparkSession | None = None,
) -> Verdict:
    """Is every record of this pipeline in every sink exactly once? `deep` counts the rows themselves.

    `since` is a batch id, a time or how long ago; `sink` looks at one sink (and the dead letters) alone. Spark is
    needed only to find tables of the catalog.
    """
    if sink is not None and sink not in pipeline.sinks:
        raise WrongCall(f"{pipeline.name} has no sink `{sink}`. Its sinks: {', '.join(pipeline.sinks)}.")
    try:
        moment = None if since is None else Since.parse(since)
    except ValueError as error:
        raise WrongCall(f"--since: {error}") from error
    return Audit(pipeline, deep, moment, sink, spark).verdict()


class Audit:
    """One audit of one pipeline."""

    def __init__(
        self, pipeline: Pipeline, deep: bool, since: Since | None, sink: str | None, spark: SparkSession | None = None
    ) -> None:
        self.pipeline, self.deep, self.only, self.spark = pipeline, deep, sink, spark
        self.books = Books(place_of(pipeline, (lambda: spark) if spark else None), pipeline.name)
        self.scope = Scope(self.books, self.books.in_question(since), since is not None)
        self.looks: dict[str, Look] = {}

    def verdict(self) -> Verdict:
        if not self.books.generations:
            return self._verdict([self._never_ran()], 0)
        for name, table in self._tables().items():
            self.looks[name] = look_at_table(
                name, partial(folder_of, self.pipeline, name, table, self.spark), self.scope
            )
        if topic_sinks(self.pipeline):
            self.looks |= look_at_topics(self.pipeline, self.scope, self.only, deep=self.deep)
        findings = [*ledger_findings(self.scope), *gaps_noted(self.scope.judged)]
        findings += [*self._chain(), *self._not_looked_at()]
        for look in self.looks.values():
            findings += look.findings
        return self._counted(findings) if self.deep else self._quick(findings)

    def _tables(self) -> dict[str, str]:
        """Dead letters and sinks that are tables, by name."""
        wanted = {name: sink.to for name, sink in self.pipeline.sinks.items() if self.only in (None, name)}
        tables = {name: part.table for name, part in wanted.items() if hasattr(part, "table")}
        letters = {DEAD_LETTERS: self.pipeline.dead_letters.delta} if self.pipeline.dead_letters.delta else {}
        return {**letters, **tables}

    def _chain(self) -> list[Finding]:
        """Holes and overlaps of the ranges, entered into every account."""
        unknown = {(each.number, number) for each in self.books.generations for number in each.unknown}
        told: dict[Key, Batch] = {}
        for look in self.looks.values():
            told |= {batch.key: batch for batch in (look.log.told() if look.log else ()) if batch.key in unknown}
        found = [each for each in all_breaks(self.books, told) if each.batch.key in {**self.scope.keys, **told}]
        for look in self.looks.values():
            look.account.holes = [each.range for each in found if each.hole]
            look.account.overlaps = [each.range for each in found if not each.hole]
        cleared = any(look.log and look.log.aftermath.changes for look in self.looks.values())
        return list(break_findings(found, self.scope, told, cleared=cleared))

    def _not_looked_at(self) -> list[Finding]:
        """Sinks that the ledger knows and the file does not."""
        known = {name for batch in self.scope.judged if batch.told for name in batch.told.versions}
        gone = sorted(name for name in known - {*self.pipeline.sinks} if not is_letters(name))
        what = f"the file no longer has {listed(gone)}: what was written there was not looked at."
        return [Finding("note", what)] if gone and self.only is None else []

    def _quick(self, findings: list[Finding]) -> Verdict:
        for look in self.looks.values():
            for finding in look.findings:
                look.enter(finding)
        return self._verdict(findings, in_any_sink(self.scope.judged))

    def _counted(self, findings: list[Finding]) -> Verdict:
        """The same with every row counted: what the commits only suggest becomes a note."""
        counted = Deep(self.scope.judged, *self._readers(), self._territory()).count()
        findings = [replace(finding, kind="note") if finding.rows_decide else finding for finding in findings]
        for name, look in self.looks.items():
            for finding in look.findings:
                if not finding.rows_decide:
                    look.enter(finding)
            if name in counted.unread:
                what = f"sink {name}: it could not be read to its end: {counted.unread[name]}"
                findings.append(Finding("unproven", what, name, look.account.written, "Try again."))
            entries = Entries(look.account, self.scope, look.log, look.excuse or _blocked(look))
            findings += entries.enter(counted.judgements.get(name, ()))
            if name in counted.strangers:
                findings += entries.strangers(counted.strangers[name])
        return self._verdict(findings, counted.written)

    def _readers(self) -> tuple[dict[str, RowReader], dict[str, RowReader]]:
        """Of sinks, and of dead letters."""
        readers = {name: look.reader for name, look in self.looks.items() if look.reader}
        letters = {name: reader for name, reader in readers.items() if is_letters(name)}
        return {name: reader for name, reader in readers.items() if name not in letters}, letters

    def _territory(self) -> Territory | None:
        """What any batch has read, those included that were begun since the ledger was first looked at."""
        if self.scope.since:
            return None
        return Territory([*self.books.batches(), *self.books.in_flight(), *self.books.begun_since()])

    def _verdict(self, findings: list[Finding], written: int) -> Verdict:
        accounts = [look.account for look in self.looks.values()]
        own_lost, own_doubled = sum(each.lost for each in accounts), sum(each.doubled for each in accounts)
        ledger = [finding for finding in findings if finding.sink is None]
        lost, doubled = (sum(each.count for each in ledger if each.kind == kind) for kind in ("lost", "doubled"))
        for account in accounts:
            account.written = max(0, account.written - account.lost - account.deleted_by_owner)
            if not is_letters(account.name):  # what was never read, or twice, is so for every sink
                account.lost, account.doubled = account.lost + lost, account.doubled + doubled
        total = totals(self.scope.judged)
        return Verdict(
            pipeline=self.pipeline.name,
            deep=self.deep,
            read=total.read,
            written=written,
            rejected=total.rejected,
            dropped=total.dropped,
            lost=lost + own_lost,
            doubled=doubled + own_doubled,
            deleted_by_owner=sum(account.deleted_by_owner for account in accounts),
            sinks={account.name: account for account in accounts if not is_letters(account.name)},
            letters={account.name: account for account in accounts if is_letters(account.name)},
            findings=tuple(findings),
            generations=len(self.books.generations),
            batches=len(self.scope.judged),
            in_flight=tuple(self.scope.name(batch.key) for batch in self.books.in_flight()),
        )

    def _never_ran(self) -> Finding:
        what = f"there is no ledger in {self.pipeline.state}: the pipeline has not run, or its state is elsewhere."
        return Finding("unproven", what, remedy="Run it, or name the state folder:  state: ...")


def _blocked(look: Look) -> str:
    """Files that are there and that we may not read hold rows that we cannot see."""
    blocked: list[str] = getattr(look.reader, "blocked", [])
    return f"files of the table may not be read: {listed(blocked)}" if blocked else ""
