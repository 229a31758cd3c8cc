"""Checks that the evidence suggests. Each holds for the whole sample; each only warns until somebody decides."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from penstock.authoring import hints
from penstock.authoring.evidence import Evidence, kept
from penstock.authoring.hints import hints_at
from penstock.authoring.scalars import quoted
from penstock.authoring.words import share

ENOUGH_RECORDS = 200
"""Records from which on a rule may stand uncommented, and a few words be taken for all there are."""
MOST_LIVE = 2
MOST = 20
MOST_WORDS = 10
NUMERIC = {"BIGINT", "DECIMAL", "DOUBLE"}


@dataclass(frozen=True)
class Proposal:
    """A check in the form of the pipeline file."""

    name: str
    rule: str
    of: int
    """Records that it held for."""
    live: bool = False

    @property
    def odds(self) -> str:
        """What none in n says of the rest: with 19 chances in 20, fewer than three in n (the rule of three)."""
        return f"fails for 0 of {self.of:,} in the sample" + (
            f", so probably for under {share(min(3, self.of), self.of)}" if self.of >= 30 else ""
        )

    def as_data(self) -> dict[str, Any]:
        return {"name": self.name, "rule": self.rule, "on_fail": "warn", "live": self.live, "held_for": self.of}


def propose(fields: tuple[Evidence, ...]) -> list[Proposal]:
    """At most two that stand, the others to be uncommented."""
    found = [each for each in _candidates(fields) if re.fullmatch(r"[^$\\\"]*", each.rule)]
    unique = list({each.name: each for each in reversed(found)}.values())[::-1][:MOST]
    live = [each for each in unique if each.of >= ENOUGH_RECORDS][:MOST_LIVE]
    return [Proposal(each.name, each.rule, each.of, each in live) for each in unique]


def _candidates(fields: tuple[Evidence, ...]) -> Iterator[Proposal]:
    columns = [each for each in kept(fields) if not each.shape.misfits]
    for look in (_not_negative, _one_of, _not_empty):
        for each in columns:
            if found := look(each):
                suffix, condition = found
                rule = condition if each.required else f"{quoted(each.name)} IS NULL OR {condition}"
                yield Proposal(f"{_slug(each.name)[:40]}_{suffix}", rule, each.of)


def _not_negative(field: Evidence) -> tuple[str, str] | None:
    fits = field.type is not None and field.type.name in NUMERIC and hints_at(field.name, hints.NOT_NEGATIVE)
    low = field.shape.low
    return ("not_negative", f"{quoted(field.name)} >= 0") if fits and low and float(low) >= 0 else None


def _one_of(field: Evidence) -> tuple[str, str] | None:
    """A few words, each seen several times: they may be all there are."""
    counts = field.shape.counts
    if field.type is None or field.type.name != "STRING" or not 2 <= len(counts) <= MOST_WORDS:
        return None
    plain = all(re.fullmatch(r"[\w.:/+-][\w .:/+-]{0,23}", word) and count >= 3 for word, count in counts.items())
    if not plain or sum(counts.values()) < ENOUGH_RECORDS:
        return None
    words = ", ".join(f"'{word}'" for word in sorted(counts))
    return "known", f"{quoted(field.name)} IN ({words})"


def _not_empty(field: Evidence) -> tuple[str, str] | None:
    fits = field.type is not None and field.type.name == "STRING" and hints_at(field.name, hints.ID)
    empty = any("empty" in note for note in field.shape.notes)
    return ("not_empty", f"{quoted(field.name)} <> ''") if fits and not empty and field.required else None


def _slug(name: str) -> str:
    """The name as a check may have it in its own."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") or "field"
