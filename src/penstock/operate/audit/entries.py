"""What the counting of rows found, entered into a sink's account: lost, doubled, or deleted by the table's owner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.counting import counted
from penstock.operate.audit.aftermath import Change
from penstock.operate.audit.deep import Strangers
from penstock.operate.audit.findings import MOST_EXAMPLES, Finding, listed
from penstock.operate.audit.rows import Judgement
from penstock.operate.audit.scope import Scope
from penstock.operate.audit.tablelog import TableLog
from penstock.operate.audit.verdict import Account


@dataclass
class Entries:
    """One sink's judgements. `log` is that of its table, if it is one."""

    account: Account
    scope: Scope
    log: TableLog | None
    excuse: str = ""
    """Why records may rightly be gone from a topic."""
    budgets: dict[int, int | None] = field(default_factory=dict)
    """Version -> rows that its change can still account for; None for no limit."""

    def enter(self, judgements: Iterable[Judgement]) -> Iterator[Finding]:
        for each in judgements:
            where = f"sink {self.account.name}, {self._where(each)}"
            if each.doubled:
                yield self._doubled(where, each)
            if each.lost:
                yield from self._lost(where, each)

    def strangers(self, found: Strangers) -> Iterator[Finding]:
        """Rows of others are told, and are not ours to judge."""
        name = self.account.name
        self.account.foreign = found.anonymous + found.outside
        if found.anonymous:
            what = f"sink {name}: {counted(found.anonymous, 'row')} without lineage are not penstock's."
            yield Finding("note", what, name, found.anonymous)
        if found.outside:
            what = f"sink {name}: {counted(found.outside, 'row')} name offsets that no batch of this pipeline read."
            yield Finding("note", what, name, found.outside, examples=tuple(found.examples))

    def _doubled(self, where: str, each: Judgement) -> Finding:
        self.account.doubled += each.doubled
        part = self.account.partitions[each.stretch.place]
        part.doubled += each.doubled
        part.examples += each.named(each.twice)[: MOST_EXAMPLES - len(part.examples)]
        names = tuple(each.named(each.twice))
        what = f"{where}: {counted(each.doubled, 'record')} more than once{_such(names)}."
        return Finding("doubled", what, self.account.name, each.doubled, self._way_out(), names)

    def _lost(self, where: str, each: Judgement) -> Iterator[Finding]:
        deleted = self._deleted(each)
        lost = each.lost - deleted
        self.account.deleted_by_owner += deleted
        if not lost:
            return
        names = tuple(each.named(each.missing))
        such = _such(names) if each.certain else f" (among these or others that were left out on purpose{_such(names)})"
        what = f"{where}: {counted(lost, 'record')} not there{such}."
        excuse = self._excuse(each)
        if excuse:
            yield Finding("unproven", f"{what} {excuse}", self.account.name, lost, examples=names)
            return
        self.account.lost += lost
        part = self.account.partitions[each.stretch.place]
        part.lost += lost
        part.examples += names[: MOST_EXAMPLES - len(part.examples)]
        yield Finding("lost", what, self.account.name, lost, self._way_back(each), names)

    def _excuse(self, each: Judgement) -> str:
        """Why what is missing need not be lost."""
        if self.log is not None and not all(self.log.reaches(batch) for batch in each.stretch.batches):
            return "The log no longer tells whether its owner deleted them."
        return f"But {self.excuse}." if self.excuse else ""

    def _deleted(self, each: Judgement) -> int:
        """How many of the missing records a declared change of the owner accounts for."""
        rows = max(each.lost_rows, each.lost)  # a doubled row may stand where a lost one stood
        for change in self._changes(each):
            budget = self.budgets.setdefault(change.commit.version, change.budget)
            take = rows if budget is None else min(rows, budget)
            rows -= take
            if budget is not None:
                self.budgets[change.commit.version] = budget - take
        return each.lost if not rows else max(0, each.lost - rows)

    def _changes(self, each: Judgement) -> Iterator[Change]:
        for batch in each.stretch.batches:
            for change in self.log.aftermath.touching(batch.key) if self.log else ():
                if change.commit.declared:
                    yield change

    def _way_out(self) -> str:
        if self.log is not None:
            return f"{self.log.look}  then DELETE the copies."
        return "Consumers can tell copies by the headers penstock.topic, .partition and .offset."

    def _way_back(self, each: Judgement) -> str:
        topic, partition = each.stretch.place
        return f"Their bytes are still in topic {topic} partition {partition}, if its retention allows."

    def _where(self, each: Judgement) -> str:
        names = listed(self.scope.name(batch.key) for batch in each.stretch.batches)
        return f"{names}, {each.stretch.place[0]}-{each.stretch.place[1]}"


def _such(names: tuple[str, ...]) -> str:
    return f": {listed(names)}" if names else ""
