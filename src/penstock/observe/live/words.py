"""Numbers, times, bars and lines as the view writes them. Whatever a user or a producer named is cleaned here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from penstock.observe.logs import printable

LABEL = 14
"""Cells of the column of labels."""


class Glyphs(NamedTuple):
    """What bars are made of."""

    bar: str
    segments: str
    """For neighbouring parts of one bar."""
    rest: str
    spark: str
    more: str
    """Stands where text was cut off."""


BLOCKS = Glyphs("█", "█▓▒", "·", "▁▂▃▄▅▆▇█", "…")
ASCII = Glyphs("#", "#=+", ".", "_.-=*#", "~")


def number(value: float) -> str:
    return f"{value:,.1f}" if 0 < value < 10 else f"{value:,.0f}"


def share(part: float, whole: float) -> str:
    """As percent; never 0 % of something."""
    percent = 100 * part / whole if whole else 0.0
    return f"{percent:.2f} %" if percent >= 0.01 or not part else "<0.01 %"


def seconds(value: float) -> str:
    """Of a measured time: `1.4 s`."""
    return f"{value:,.2f} s" if value < 1 else f"{value:,.1f} s" if value < 100 else lasting(value)


def interval(value: float) -> str:
    """Of a setting: `10 s`, `2.5 s`, `5 min`."""
    return f"{value:g} s" if value < 120 else lasting(value)


def lasting(value: float) -> str:
    """Of a time that goes on, in whole units that do not flicker: `9 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    whole = max(0, int(value))
    for unit, size, below, part in (("d", 86_400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit}" + (f" {rest} {below}" if rest else "")
    return f"{whole} s"


def column(text: str, cells: int, glyphs: Glyphs) -> str:
    """A name in a column of so many cells."""
    clean = printable(text)
    return set_cell_size(clean, cells) if cell_len(clean) <= cells else set_cell_size(clean, cells - 1) + glyphs.more


def tail(text: str, cells: int, glyphs: Glyphs) -> str:
    """The end of a path, if the whole of it has no room: that is the part which tells paths apart."""
    clean = printable(text)
    if cell_len(clean) <= cells or cells < 2:
        return set_cell_size(clean, min(cell_len(clean), max(cells, 0)))
    kept = chop_cells(clean[::-1], cells - 1)[0][::-1]
    return glyphs.more + kept


def bar(part: float, whole: float, cells: int, glyphs: Glyphs) -> str:
    """Something is never shown as nothing."""
    filled = round(cells * part / whole) if whole else 0
    return glyphs.bar * min(cells, max(filled, 1 if part else 0))


def segments(parts: Sequence[float], whole: float, cells: int, glyphs: Glyphs) -> str:
    """Times of phases, one after the other, on a bar that stands for `whole`."""
    made, spent, shown = "", 0.0, 0
    for part in parts:
        spent += part
        end = min(cells, round(cells * spent / whole)) if whole else 0
        if end > len(made):
            made += glyphs.segments[shown % len(glyphs.segments)] * (end - len(made))
            shown += 1
    return made + glyphs.rest * (cells - len(made))


def sparkline(values: Sequence[float], cells: int, glyphs: Glyphs) -> str:
    """The last values that have room, each against the highest of them."""
    shown = values[-cells:] if cells > 0 else ()
    top, steps = max(shown, default=0.0), len(glyphs.spark) - 1
    return "".join(glyphs.spark[round(steps * value / top) if top else 0] for value in shown)


Piece = str | tuple[str, str]
"""Text, or text and style."""


def lines(label: str, pieces: Iterable[Piece], width: int, gap: str = "  ") -> list[Text]:
    """The pieces behind a label, on as many lines as it takes: a narrow terminal loses no number."""
    made = [start(label)]
    for piece in pieces:
        text, style = (piece, "") if isinstance(piece, str) else piece
        first = cell_len(made[-1].plain) == LABEL
        if not first and cell_len(made[-1].plain) + len(gap) + cell_len(text) > width:
            made.append(start(""))
            first = True
        made[-1].append("" if first else gap).append(text, style)
    return made


def start(label: str) -> Text:
    """The beginning of a line: its label, bold, in a column of its own."""
    return Text(no_wrap=True, end="").append(set_cell_size(label, LABEL), "bold")
