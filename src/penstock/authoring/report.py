"""What `penstock init` tells: what was found, what is proposed, what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from penstock.authoring.advice import RAW, advice_for
from penstock.authoring.draft import Draft
from penstock.authoring.evidence import Evidence, all_of, kept
from penstock.authoring.recognise import OBJECT
from penstock.authoring.render import outcome_in_words
from penstock.authoring.schema_text import evidence_in_words
from penstock.authoring.words import listed, one_line, share, size_in_words
from penstock.counting import counted
from penstock.formats.types import Type

MOST_SHOWN = 40


def show(draft: Draft, console: Console, records: str = "") -> None:
    """A table on a terminal, plain lines in a pipe. `records` is a file whose lines could go into the topic."""
    sample = draft.sample
    _say(console, f"Sampled {sample.how} ({size_in_words(sample.size)}): {sample.origin}", "bold")
    for line in (*sample.remarks, *_found(draft)):
        _say(console, f"  {line}")
    if draft.is_json:
        _say(console, f"Schema: {_counts(draft)}", "bold")
        _fields(draft, console)
    if draft.proposals:
        live = sum(each.live for each in draft.proposals)
        standing = f"{live} of them active, as warnings" if live else "as comments"
        _say(console, f"Checks: {counted(len(draft.proposals), 'proposal')}, {standing}", "bold")
    _say(console, outcome_in_words(draft), "bold")
    _say(console, f"Wrote {draft.request.file}. Next:")
    for command in next_commands(draft, records):
        console.print(f"  {command}", soft_wrap=True, markup=False, highlight=False)


def next_commands(draft: Draft, records: str = "") -> list[str]:
    """What to type next."""
    file = shlex.quote(draft.request.file)
    fill = [f"penstock dev up && penstock dev produce {draft.request.topic} --file {shlex.quote(records)}"]
    wanted = fill if records and not draft.request.brokers else []
    return [*wanted, f"penstock preview {file}", f"penstock run {file} --once"]


def _say(console: Console, line: str, style: str = "") -> None:
    console.print(Text(line, style=style), soft_wrap=True)


def _found(draft: Draft) -> Iterator[str]:
    total = len(draft.content.kinds)
    for each in draft.content.holdings:
        where = "" if each.name == OBJECT else f"  {', '.join(each.places)}"
        details = listed((f"{detail} x {count:,}" for detail, count in each.details.items()), 3)
        yield f"{each.count:>7,}  {share(each.count, total):>8}  {each.name}{f' ({details})' if details else ''}{where}"
    main = draft.content.main
    if not draft.is_json and main is not None:
        yield from filter(None, (advice_for(main.name), RAW))


def _counts(draft: Draft) -> str:
    every = list(all_of(draft.fields))
    required = sum(each.required for each in every if each.type is not None)
    out = sum(each.type is None for each in every)
    told = [counted(len(kept(draft.fields)), "column"), f"{required:,} NOT NULL", f"{out:,} left out" if out else ""]
    return ", ".join(filter(None, told))


def _fields(draft: Draft, console: Console) -> None:
    """A line each; on a terminal the evidence is cut at its edge, in a pipe nothing is."""
    rows = [_row(each, draft) for each in draft.fields[:MOST_SHOWN]]
    wide = max(len(name) for name, _, _ in rows)
    kinds = max(len(kind) for _, kind, _ in rows)
    for name, kind, told in rows:
        line = Text.assemble(f"  {name:<{wide}}  ", (f"{kind:<{kinds}}", "cyan"), ("  " + told, "dim"))
        line.rstrip()
        if console.is_terminal:
            console.print(line, no_wrap=True, overflow="ellipsis")
        else:
            console.print(line, soft_wrap=True)
    if len(draft.fields) > MOST_SHOWN:
        _say(console, f"  and {len(draft.fields) - MOST_SHOWN:,} more: see the file")


def _row(each: Evidence, draft: Draft) -> tuple[str, str, str]:
    name = one_line(each.name, 24)
    if each.type is None:
        return name, "(left out)", one_line(each.shape.why, 100)
    kind = f"{in_short(each.type)}{' NOT NULL' if each.required else ''}"
    return name, kind, one_line(evidence_in_words(each, draft.outcome), 100)


def in_short(kind: Type) -> str:
    """The type without the fields inside it: `ARRAY<STRUCT of 3>`."""
    match kind.name:
        case "STRUCT":
            return f"STRUCT of {len(kind.fields)}"
        case "ARRAY" | "MAP" if kind.element is not None:
            return f"{'ARRAY<' if kind.name == 'ARRAY' else 'MAP<STRING, '}{in_short(kind.element)}>"
    return str(kind)
