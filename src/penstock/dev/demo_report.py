"""The demo's last word: what was sent, against what a Kafka client and DuckDB find."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest

from penstock.dev import oracle
from penstock.dev.demo_folder import TOPIC, DemoFolder
from penstock.dev.demo_producer import Producer
from penstock.dev.demo_screen import Screen

_SHOWN_NAMES = 5
_COLUMNS = 3


@dataclass(frozen=True)
class Report:
    """The producer's books beside an independent count."""

    sent: Producer
    found: oracle.Count
    amount: Decimal

    @property
    def right(self) -> bool:
        """Whether nothing was lost, doubled, misjudged or changed."""
        same = (self.found.read, self.found.rejected, self.amount) == (
            self.sent.sent,
            self.sent.codes,
            self.sent.amount,
        )
        return self.found.exact and same

    def show(self, screen: Screen) -> None:
        for line in (*self._totals(), *self._codes(), "", self._verdict(), *self._names()):
            screen.text(line)

    def _totals(self) -> list[str]:
        sent, found, bad = self.sent, self.found, self.sent.codes.total()
        lines: list[tuple[str, int | Decimal, int | Decimal]] = [
            ("read: records in the topic", sent.sent, found.read),
            ("written: rows in the table", sent.sent - bad, found.written),
            ("  sum of their amount", sent.amount, self.amount),
            ("rejected: dead letters, by code", bad, sum(found.rejected.values())),
        ]
        head = f"{'':<32}{'sent':>18}{'found':>18}"
        return [head, *(f"{name:<32}{a:>18,}{_marked(f'{b:>18,}', a == b)}" for name, a, b in lines)]

    def _codes(self) -> list[str]:
        """By code, in columns read downwards; each found/sent."""
        cells = [self._cell(code) for code in sorted({*self.sent.codes, *self.found.rejected})]
        height = -(-len(cells) // _COLUMNS)
        columns = [cells[start : start + height] for start in range(0, len(cells), height)]
        return ["  " + "".join(line).rstrip() for line in zip_longest(*columns, fillvalue="")]

    def _cell(self, code: str) -> str:
        sent, found = self.sent.codes[code], self.found.rejected.get(code, 0)
        return f"{code:<16}" + _marked(f"{f'{found:,}/{sent:,}':<9}", sent == found)

    def _verdict(self) -> str:
        words = f"lost {len(self.found.lost):,}, doubled {len(self.found.doubled):,}"
        if self.found.misjudged:
            words += f", rejected or kept for the wrong reason {len(self.found.misjudged):,}"
        elif not self.right and self.found.exact:
            words += ", and yet the figures above differ"
        if not self.right:
            return f"[bold red]{words}[/]"
        return f"[bold green]{words}[/]: each record is in the table, or in the dead letters for its reason"

    def _names(self) -> list[str]:
        kinds = {"lost": self.found.lost, "doubled": self.found.doubled}
        named = [f"{kind}: {', '.join(map(str, names[:_SHOWN_NAMES]))}" for kind, names in kinds.items() if names]
        return named + [
            f"{name}: expected {expected or 'a row'}, found {found or 'a row'}"
            for name, expected, found in self.found.misjudged[:_SHOWN_NAMES]
        ]


def count(bootstrap: str, folder: DemoFolder, sent: Producer) -> Report:
    """Read topic and tables, with nothing of penstock's own counting."""
    found = oracle.count(bootstrap, [TOPIC], folder.table, folder.dead_letters, sent.bad.get)
    [(amount,)] = oracle.rows(folder.table, "sum(amount)") or [(None,)]
    return Report(sent, found, amount or Decimal(0))


def _marked(text: str, right: bool) -> str:
    return text if right else f"[bold red]{text}[/]"
