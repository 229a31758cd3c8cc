"""The lower half of the view: lists that are cut to the room there is, the most telling rows first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from penstock.observe.live.parts import Sunk
from penstock.observe.live.state import State
from penstock.observe.live.words import (
    LABEL,
    Glyphs,
    bar,
    column,
    lasting,
    share,
    start,
    tail,
)
from penstock.observe.logs import printable

MOST_PARTITIONS, MOST_CODES, MOST_NOTES = 12, 10, 8


@dataclass(frozen=True)
class Section:
    """Lines that are always shown, and rows as far as there is room."""

    always: Sequence[Text]
    rows: Sequence[Text]
    most: int = 20
    label: str = ""
    """Of the first row, where no line stands above it."""
    says_more: bool = True

    @property
    def wants(self) -> int:
        return min(len(self.rows), self.most)

    def cut(self, room: int) -> list[Text]:
        """Its lines in so many rows; what is left out is counted."""
        hidden = len(self.rows) - room
        rows = list(self.rows[:room])
        if hidden > 0 and self.says_more and room > 0:
            rows[-1] = start("").append(f"and {hidden + 1:,} more" if room > 1 else f"{len(self.rows):,} in all", "dim")
        if rows and self.label:
            rows[0] = start(self.label).append_text(rows[0][LABEL:])
        return [*self.always, *rows]


def lists(state: State, width: int, now: float, glyphs: Glyphs) -> list[Section]:
    """Every list of the view, in its order."""
    return [
        _lag(state, width, glyphs),
        _rejects(state, width, glyphs),
        _letters(state, width, glyphs),
        _sinks(state, width, now, glyphs),
        _notes(state, now),
    ]


def _lag(state: State, width: int, glyphs: Glyphs) -> Section:
    if state.lag is None:
        return Section([start("lag").append("not known yet", "dim")], [])
    total, behind = sum(state.lag.values()), {name: rows for name, rows in state.lag.items() if rows}
    of = f"{len(state.lag):,} partition{'s' if len(state.lag) != 1 else ''}"
    told = f"{total:,} rows, {len(behind):,} of {of} behind" if behind else f"none, {of}"
    worst = sorted(behind.items(), key=lambda pair: (-pair[1], pair[0]))[: MOST_PARTITIONS + 1]
    names, counts = _widths([(name, f"{rows:,}") for name, rows in worst], width)
    cells = min(40, width - LABEL - names - counts - 4)
    rows = [
        start("")
        .append(column(name, names, glyphs))
        .append(f"  {count:>{counts},}  ")
        .append(bar(count, worst[0][1], max(cells, 1), glyphs), "blue")
        for name, count in worst
    ]
    hidden = [start("")] * (len(behind) - len(rows))  # counted, never shown
    return Section([start("lag").append(told)], [*rows, *hidden], MOST_PARTITIONS)


def _rejects(state: State, width: int, glyphs: Glyphs) -> Section:
    rejected, read = state.totals.rejected, state.totals.read
    total = sum(rejected.values())
    told = f"{total:,}, {share(total, read)} of what was read" if total else "none"
    ordered = sorted(rejected.items(), key=lambda pair: (-pair[1], pair[0]))
    names, counts = _widths([(code, f"{count:,}") for code, count in ordered[:MOST_CODES]], width)
    rows = [
        start("").append(column(code, names, glyphs)).append(f"  {count:>{counts},}  {share(count, read):>8}")
        for code, count in ordered
    ]
    return Section([start("rejected").append(told)], rows, MOST_CODES)


def _letters(state: State, width: int, glyphs: Glyphs) -> Section:
    where = tail(state.facts.dead_letters, width - LABEL, glyphs)
    return Section([start("dead letters").append(where)] if where else [], [])


def _sinks(state: State, width: int, now: float, glyphs: Glyphs) -> Section:
    shown = [(name, sort, state.sinks.get(name, Sunk())) for name, sort in state.facts.sinks.items()]
    names, counts = _widths([(name, f"{sunk.rows:,}") for name, _, sunk in shown], width)
    sorts = max((cell_len(sort) for _, sort, _ in shown), default=0)
    room = width - LABEL - names - sorts - counts - len("    rows")
    rows = [
        start("")
        .append(column(name, names, glyphs))
        .append(f"  {column(sort, sorts, glyphs)}  {sunk.rows:>{counts},} rows")
        .append(_marked(sort, sunk, now, room))
        for name, sort, sunk in shown
    ]
    return Section([], rows, most=len(rows), label="sinks")


def _marked(sort: str, sunk: Sunk, now: float, room: int) -> str:
    """A table's version or a cluster's marker, where it has room, and how old the last commit is."""
    if sunk.at is None:
        return ""
    word, age = "marker" if sort == "kafka" else "version", f"  {lasting(now - sunk.at)} ago"
    version = f"  {word} {sunk.version}" if sunk.version is not None and sunk.version >= 0 else ""
    return version + age if len(version + age) <= room else age


def _notes(state: State, now: float) -> Section:
    """Newest first; what has no room has scrolled by above."""
    rows = [
        start("").append(f"{lasting(now - note.at)} ago  ", "dim").append(printable(note.text))
        for note in reversed(state.notes)
    ]
    return Section([], rows, MOST_NOTES, label="events", says_more=False)


def _widths(rows: Sequence[tuple[str, str]], width: int) -> tuple[int, int]:
    """Cells for names, which may take a third of the width, and for counts."""
    names = max((cell_len(printable(name)) for name, _ in rows), default=0)
    return min(names, max(8, width // 3)), max((cell_len(count) for _, count in rows), default=0)
