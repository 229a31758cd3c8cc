"""The text of a drafted pipeline file: what was found in its comments, what is proposed in its keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.authoring.advice import RAW, advice_for
from penstock.authoring.checks import Proposal
from penstock.authoring.evidence import all_of, kept
from penstock.authoring.recognise import OBJECT, TOMBSTONE
from penstock.authoring.request import Request
from penstock.authoring.sample import Content
from penstock.authoring.scalars import quoted
from penstock.authoring.schema_text import schema_lines
from penstock.authoring.words import listed, one_line, printable, share
from penstock.counting import counted

if TYPE_CHECKING:
    from penstock.authoring.draft import Draft

WIDTH = 110
_WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", "dev"}


def text_of(draft: Draft) -> str:
    """The whole file."""
    return "\n".join([*_head(draft), *_source(draft.request), *_decode(draft), *_rest(draft)]) + "\n"


def minimal(request: Request) -> str:
    """The least file with these names, to find out whether they are right before anything is sampled."""
    return "\n".join([*_source(request), "decode: raw", *_sink(request)]) + "\n"


def _head(draft: Draft) -> Iterator[str]:
    yield from comment(f"Proposed by `penstock init` from {draft.sample.how}: {draft.sample.origin}.")
    yield from comment(f"Found: {found_in_words(draft.content)}.")
    for remark in draft.sample.remarks:
        yield from comment(remark)
    yield from comment(outcome_in_words(draft))
    if draft.outcome.rejected:
        yield "# Rejected records go to the dead letters, with their bytes, the code and the field at fault."
    if not draft.is_json:
        main = draft.content.main
        yield from comment(f"{advice_for(main.name) if main else ''} {RAW}".strip())
    yield "# Look through it: the examples come from your data, and the sample is not the whole topic."


def found_in_words(content: Content) -> str:
    """`JSON object 993 (99.3 %); plain text 5 (0.5 %, at partition 2 offset 4411)`."""
    total = len(content.kinds)
    told = []
    for each in content.holdings:
        details = listed((f"{detail} x {count:,}" for detail, count in each.details.items()), 3)
        places = "" if each.name == OBJECT else f", at {', '.join(each.places)}"
        told.append(f"{each.name} {each.count:,} ({share(each.count, total)}{places}{details and ': ' + details})")
    return one_line("; ".join(told), 1000)


def outcome_in_words(draft: Draft) -> str:
    """What the real decoder made of the sample."""
    outcome = draft.outcome
    told = f"Decoded with this file: {outcome.good:,} good"
    if not outcome.rejected:
        return f"{told}, none rejected."
    codes = ", ".join(
        f"{code} {count:,} ({', '.join(outcome.places[code][:2])})" for code, count in outcome.codes.items()
    )
    return f"{told}, {outcome.rejected:,} rejected ({share(outcome.rejected, outcome.records)}): {codes}."


def _source(request: Request) -> Iterator[str]:
    brokers = f"[{', '.join(map(scalar, request.brokers))}]" if request.brokers else "dev"
    yield f"pipeline: {scalar(request.name)}"
    yield "source:"
    yield f"  kafka: {{brokers: {brokers}, topics: [{scalar(request.topic)}]}}"


def _decode(draft: Draft) -> Iterator[str]:
    tombstones = draft.content.count(TOMBSTONE)
    drop = f"tombstones: drop   # else {counted(tombstones, 'record')} without a value would be dead letters"
    if not draft.is_json:
        yield "decode: raw"
        if tombstones:
            yield f"# or  decode: {{raw: {{tombstones: drop}}}}: {counted(tombstones, 'record')} had no value"
        return
    yield from ("decode:", "  json:")
    yield "    # `--` begins a comment of the schema. NOT NULL: there, and not null, in every record of the sample."
    yield "    schema: |"
    yield from (f"      {line}" for line in schema_lines(draft.fields, draft.outcome))
    if any(each.type is None for each in draft.fields):
        yield "    # unknown_fields: keep   # fields that are left out, as JSON text, in the column `_unknown`"
    if tombstones:
        yield f"    # {drop}"


def _rest(draft: Draft) -> Iterator[str]:
    yield from _checks(draft.proposals)
    yield from _steps(draft)
    yield from _sink(draft.request)
    yield f"# dead_letters: {{delta: {scalar(draft.request.table + '_dead')}}}"
    yield f"#   Rejected records go to ./state/{draft.request.name}/dead_letters unless this says otherwise."


def _checks(proposals: list[Proposal]) -> Iterator[str]:
    if not proposals:
        return
    mark = "" if any(each.live for each in proposals) else "# "
    yield f"{mark}checks:   # proposed from the sample; `warn` only counts, `reject` makes dead letters"
    for each in sorted(proposals, key=lambda each: not each.live):
        rule = (
            each.rule if re.fullmatch(r"\w+ (?:<>|>=) [0-9]+", each.rule) else json.dumps(each.rule, ensure_ascii=False)
        )
        line = f"  - {{name: {scalar(each.name)}, rule: {rule}, on_fail: warn}}   # {each.odds}"
        yield line if each.live else f"# {line}"


def _steps(draft: Draft) -> Iterator[str]:
    """How a day to partition by, or a time out of an epoch number, would be made."""
    made = [each for each in kept(draft.fields) if not any(mark in each.name for mark in "$\"\\'")]
    days = [f"to_date({quoted(each.name)}) AS event_date" for each in made if str(each.type) == "TIMESTAMP"][:1]
    epochs = [
        f"{match[1]} AS {quoted(each.name + '_time')}"
        for each in made
        for note in each.shape.notes
        if (match := re.search(r"As a time: (timestamp_\w+\(.*\))", note))
    ][:3]
    if days or epochs:
        sql = f"SELECT *, {', '.join([*days, *epochs])} FROM rows"
        yield "# steps:"
        yield f"#   - sql: {json.dumps(sql, ensure_ascii=False) if re.search('[`:#]', sql) else sql}"


def _sink(request: Request) -> Iterator[str]:
    yield "sinks:"
    yield f"  lake: {{delta: {{table: {scalar(request.table)}}}}}"


def scalar(text: str) -> str:
    """The text as YAML takes it for that text: plain where that is safe, else in double quotes."""
    plain = re.fullmatch(r"[A-Za-z./][A-Za-z0-9_./-]*(?::[0-9]+)?", text) and text.lower() not in _WORDS
    if plain and not text.replace(".", "").replace("-", "").isdigit():
        return text
    return printable(json.dumps(text.replace("$", "$$"), ensure_ascii=False))


def comment(text: str) -> Iterator[str]:
    """The text as lines of a YAML comment, cut at blanks."""
    line = "#"
    for word in one_line(text, 4000).split(" "):
        if len(line) + len(word) > WIDTH and line != "#":
            yield line
            line = "#"
        line += f" {word}"
    yield line


def left_out(draft: Draft) -> int:
    """Fields, at any level, that got no type."""
    return sum(each.type is None for each in all_of(draft.fields))
