"""Rows of text in columns, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def aligned(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> Iterator[str]:
    """Lines of a table; the first `left` columns begin at the left, the others end at the right."""
    every = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[place]) for row in every) for place in range(len(head))]
    for row in every:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()


def number(value: float | None) -> str:
    """With commas; `-` if nobody knows."""
    return "-" if value is None else f"{value:,.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"
