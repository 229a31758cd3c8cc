"""What an audit finds, as values: each finding says where, what, how many records, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["lost", "doubled", "unproven", "note"]
ORDER: tuple[Kind, ...] = ("lost", "doubled", "unproven", "note")
"""The worst first: the verdict is that of the worst finding."""
MOST_EXAMPLES = 5


@dataclass(frozen=True)
class Finding:
    """One thing that is not as the ledger says, or that a reader should know."""

    kind: Kind
    what: str
    sink: str | None = None
    count: int = 0
    """Records, as far as they can be counted."""
    remedy: str = ""
    examples: tuple[str, ...] = ()
    """`topic-partition-offset` of the first records."""
    rows_decide: bool = False
    """Only the commits were looked at: where every row is counted, this explains a count and decides nothing."""

    by_owner: bool = False
    """Rows that the table's owner took away and said so."""

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "sink": self.sink,
            "what": self.what,
            "count": self.count,
            "examples": list(self.examples),
            "remedy": self.remedy,
        }


def off_by(difference: int, what: str, sink: str, remedy: str = "") -> Finding:
    """So many rows too few or too many, by what commits and files say of themselves."""
    return Finding("lost" if difference < 0 else "doubled", what, sink, abs(difference), remedy, rows_decide=True)


def sorted_by_weight(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: ORDER.index(finding.kind)))


def listed(items: Iterable[object], most: int = 3) -> str:
    """`1, 2, 3 and 4 more`."""
    words = [str(item) for item in items]
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")
