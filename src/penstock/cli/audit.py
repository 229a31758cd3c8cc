"""penstock audit: is every record in every sink exactly once? The proof, or the rows."""

from __future__ import annotations

import json as json_text
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.loading import Env, File, Set, again, load
from penstock.counting import counted

if TYPE_CHECKING:
    from penstock.operate.audit import Account, Verdict

MOST_LINES = 10
"""Findings of one kind that are printed; `--json` has all."""
COLUMNS = ("read", "written", "not_routed", "rejected", "dropped", "lost", "doubled")


def audit(
    file: File,
    env: Env = None,
    sets: Set = None,
    deep: Annotated[bool, typer.Option("--deep", help="Count every row, not only commits.")] = False,
    since: Annotated[
        str | None,
        typer.Option(metavar="WHEN", help="Judge from a batch id, a time or `2 hours` ago on.", show_default=False),
    ] = None,
    sink: Annotated[str | None, typer.Option(metavar="NAME", help="One sink alone.", show_default=False)] = None,
    json: Annotated[bool, typer.Option("--json", help="As one JSON object.")] = False,
) -> None:
    """Prove that every record is in every sink exactly once. Ends with 0 exact, 1 lost or doubled, 3 unproven."""
    pipeline = load(file, env, sets)

    from penstock.operate.audit import audit as run_audit

    found = run_audit(pipeline, deep=deep, since=since, sink=sink)
    print(json_text.dumps(found.to_json()) if json else "\n".join(as_lines(found, again(file, env, sets))))
    raise typer.Exit(found.exit_code)


def as_lines(found: Verdict, file: str) -> Iterator[str]:
    """The verdict for a person: a table of the sinks, what was found, one sentence, what to do next."""
    looked = "ledger, commits and every row" if found.deep else "ledger and commits"
    yield f"{found.pipeline}: {counted(found.batches, 'batch', 'batches')}; {looked} compared"
    if found.sinks or found.letters:
        yield from _table([*found.sinks.values(), *found.letters.values()])
    for batch in found.in_flight:
        yield f"  in flight: {batch} is begun and not finished; it is not judged"
    for kind in ("lost", "doubled", "unproven", "note"):
        yield from _findings(found, kind)
    yield _sentence(found)
    yield from _next(found, file)


def _table(accounts: list[Account]) -> Iterator[str]:
    rows = [("sink", *(name.replace("_", " ") for name in COLUMNS))]
    rows += [(account.name, *(f"{getattr(account, name):,}" for name in COLUMNS)) for account in accounts]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  " + "  ".join(cells)


def _findings(found: Verdict, kind: str) -> Iterator[str]:
    findings = found.of(kind)
    for finding in findings[:MOST_LINES]:
        yield f"  {kind}: {finding.what}"
        if finding.remedy:
            yield f"    {finding.remedy}"
    if len(findings) > MOST_LINES:
        yield f"  {kind}: and {len(findings) - MOST_LINES:,} more; --json has all"


def _sentence(found: Verdict) -> str:
    counts = f"{found.read:,} records read, {found.lost:,} lost, {found.doubled:,} doubled"
    deleted = f", {found.deleted_by_owner:,} deleted by their owner" if found.deleted_by_owner else ""
    return f"{found.verdict}: {counts}{deleted}"


def _next(found: Verdict, file: str) -> Iterator[str]:
    if not found.deep and (found.exact or any(finding.rows_decide for finding in found.findings)):
        yield f"  {'Count every row, too' if found.exact else 'Name the rows'}:  penstock audit {file} --deep"
