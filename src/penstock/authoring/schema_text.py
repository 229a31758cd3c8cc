"""The schema as text: a line for each field with its evidence behind `--`, which the schema language takes for a
comment. No value can end such a comment: line ends and all that is unprintable are escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.authoring.evidence import Evidence, kept
from penstock.authoring.verify import Outcome
from penstock.authoring.words import listed, one_line, share
from penstock.counting import counted
from penstock.formats.types import Type

LONGEST_COMMENT = 150
WIDEST = 46
"""Column up to which comments are aligned."""
MOST_LEFT_OUT = 20
FEW_WORDS = 6


def schema_lines(fields: tuple[Evidence, ...], outcome: Outcome | None = None) -> list[str]:
    """The schema, line by line. Without an outcome nothing is said of rejects."""
    pairs = list(_struct(fields, "", outcome))
    width = min(WIDEST, max(len(code) for code, comment in pairs if comment)) if any(c for _, c in pairs) else 0
    return [f"{code:<{width}}  -- {comment}".rstrip() if comment else code for code, comment in pairs]


def _struct(fields: tuple[Evidence, ...], indent: str, outcome: Outcome | None) -> Iterator[tuple[str, str]]:
    """Code and comment of each line. Top-level names stand before a blank, inner ones before a colon."""
    proposed = kept(fields)
    for place, each in enumerate(proposed):
        comma = "," if place < len(proposed) - 1 else ""
        yield from _field(each, indent, comma, outcome)
    out = [each for each in fields if each.type is None]
    for each in out[:MOST_LEFT_OUT]:
        seen = f", in {share(each.present, each.of)} of them" if each.present < each.of else ""
        yield f"{indent}-- left out: {one_line(each.name)}: {one_line(each.shape.why, 120)}{seen}", ""
    if len(out) > MOST_LEFT_OUT:
        yield f"{indent}-- left out: {len(out) - MOST_LEFT_OUT:,} more", ""


def _field(each: Evidence, indent: str, comma: str, outcome: Outcome | None) -> Iterator[tuple[str, str]]:
    assert each.type is not None
    colon = ":" if len(each.path) > 1 else ""
    tail = f"{' NOT NULL' if each.required else ''}{comma}"
    comment = one_line(evidence_in_words(each, outcome), LONGEST_COMMENT)
    opening, closing = _around(each.type)
    if opening:
        yield f"{indent}{named(each.name)}{colon} {opening}", comment
        yield from _struct(each.shape.children, f"{indent}  ", outcome)
        yield f"{indent}{closing}{tail}", ""
    else:
        yield f"{indent}{named(each.name)}{colon} {each.type}{tail}", comment


def _around(kind: Type) -> tuple[str, str]:
    """What stands before and behind the fields of the STRUCT in this type; nothing where there is none."""
    if kind.name == "STRUCT":
        return "STRUCT<", ">"
    if kind.element is None:
        return "", ""
    opening, closing = _around(kind.element)
    word = "ARRAY<" if kind.name == "ARRAY" else "MAP<STRING, "
    return (word + opening, closing + ">") if opening else ("", "")


def named(name: str) -> str:
    """The name as the schema language takes it."""
    return name if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) else "`" + name.replace("`", "``") + "`"


def evidence_in_words(each: Evidence, outcome: Outcome | None = None) -> str:
    """What speaks for the proposal, in one line."""
    shape = each.shape
    told = []
    if each.missing:
        told.append(f"{share(each.missing, each.of)} null or absent")
    if outcome and (codes := _rejected_at(each, outcome)):
        told.append(f"rejects {counted(sum(codes.values()), 'record')} ({', '.join(codes)})")
    told += shape.notes
    if shape.low and not 0 < len(shape.counts) <= FEW_WORDS:
        told.append(f"{one_line(shape.low)} .. {one_line(shape.high)}")
    if 0 < len(shape.counts) <= FEW_WORDS:
        told.append(f"only {listed((one_line(word) or 'empty' for word in shape.counts), FEW_WORDS)}")
    elif shape.counts:
        told.append(f"{len(shape.counts)} distinct values, e.g. {one_line(next(iter(shape.counts)))}")
    elif shape.examples and not shape.low:
        told.append(f"e.g. {', '.join(one_line(example) for example in shape.examples[:2])}")
    return "; ".join(told)


def _rejected_at(each: Evidence, outcome: Outcome) -> dict[str, int]:
    """Records that failed at this field or at its elements; fields inside it tell their own."""
    codes: dict[str, int] = {}
    for path, found in outcome.fields.items():
        inner = path[len(each.path) :]
        if path[: len(each.path)] == each.path and set(inner) <= {"*"}:
            for code, count in found.items():
                codes[code] = codes.get(code, 0) + count
    return codes
