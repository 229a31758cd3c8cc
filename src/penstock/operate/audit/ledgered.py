"""What the ledger alone tells: batches without an outcome, edited ones, holes and overlaps of the ranges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from penstock.counting import counted
from penstock.operate.audit.books import Batch, Books, Generation, Key
from penstock.operate.audit.chain import Break, breaks
from penstock.operate.audit.findings import Finding, listed
from penstock.operate.audit.scope import DEEP, Scope
from penstock.ranges import Range

RESTORE = "Restore the ledger from a backup of the same moment."


def ledger_findings(scope: Scope) -> Iterator[Finding]:
    """Everything about single batches: gone, unreadable, edited."""
    for generation in scope.books.generations:
        yield from _beginning(generation, scope)
    for batch in scope.judged:
        if batch.doubts:
            what = f"{scope.name(batch.key)}: the ledger does not agree with itself: {'; '.join(batch.doubts)}."
            yield Finding("unproven", what, remedy=f"{RESTORE} The rows are where they were.")
        elif batch.told is None:
            what = f"{scope.name(batch.key)} has no outcome in the ledger, though later batches have."
            yield Finding("unproven", what, remedy=RESTORE)


def _beginning(generation: Generation, scope: Scope) -> Iterator[Finding]:
    first = generation.first
    if first and (generation.number, first) in scope.keys and not scope.since:
        what = f"the ledger of generation {generation.number} begins at batch {first}: earlier batches are not judged."
        remedy = f"Judge what it still has:  --since {first}"
        yield Finding("unproven", what, remedy=remedy)


def gaps_noted(batches: Iterable[Batch]) -> Iterator[Finding]:
    """Records that the source had deleted before they were read, and that somebody said to skip."""
    gaps = [gap for batch in batches if batch.told for gap in batch.told.gaps]
    if gaps:
        what = f"up to {counted(sum(map(len, gaps)), 'record')} were deleted by the source before they were read, and "
        yield Finding("note", what + f"skipping them was agreed to: {listed(map(say, gaps))}.")


def all_breaks(books: Books, told: dict[Key, Batch]) -> list[Break]:
    """Holes and overlaps of the chain; batches that only a table tells of are filled in."""
    return list(breaks([_filled(generation, told) for generation in books.generations]))


def _filled(generation: Generation, told: dict[Key, Batch]) -> Generation:
    found = [told[generation.number, n] for n in generation.unknown if (generation.number, n) in told]
    whole = sorted([*generation.batches, *found], key=lambda batch: batch.batch_id)
    return replace(generation, batches=tuple(whole))


def break_findings(found: Iterable[Break], scope: Scope, told: dict[Key, Batch], *, cleared: bool) -> Iterator[Finding]:
    """`cleared`: somebody deleted rows from a sink, so that what was read twice may be there once."""
    for each in found:
        if each.hole:
            what = f"{say(each.range)} was never read: {scope.name(each.batch.key)} begins behind it."
            examples = (f"{each.range.topic}-{each.range.partition}-{each.range.start}",)
            yield Finding("lost", what, count=len(each.range), remedy=_read_again(each), examples=examples)
        else:
            again = " (new-generation --from source)" if each.between else ""
            what = f"{say(each.range)} was read before, and again by {scope.name(each.batch.key)}{again}."
            yield Finding(
                "unproven" if cleared else "doubled", what, count=len(each.range), remedy=DEEP, rows_decide=True
            )
    for key, batch in sorted(told.items()):
        what = f"{scope.name(key)}: a table holds its commit, but the ledger has neither its intent nor its outcome "
        yield Finding("unproven", f"{what}({listed(map(say, batch.ranges))}).", remedy=RESTORE)


def _read_again(found: Break) -> str:
    part = found.range
    return (
        f"Read it with a pipeline of its own:  start: {{{part.topic}: {{{part.partition}: {part.start}}}}}, "
        f"up to offset {part.end - 1}"
    )


def say(part: Range) -> str:
    return f"{part.topic}-{part.partition} {part.start} to {part.end - 1}"
