"""State -> lines for a terminal of a given size. Never taller or wider than that; nothing in it is markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from penstock.observe.live.head import head
from penstock.observe.live.lists import Section, lists
from penstock.observe.live.state import State
from penstock.observe.live.words import BLOCKS, Glyphs

BELOW = 3
"""Lines that stay free for what scrolls above, for the last word, and for the prompt."""


def render(state: State, width: int, height: int, now: float, glyphs: Glyphs = BLOCKS) -> Group:
    """The view as it is to be drawn now."""
    return composed(head(state, width, now, glyphs), lists(state, width, now, glyphs), width, height, glyphs)


def composed(upper: Sequence[Text], sections: Sequence[Section], width: int, height: int, glyphs: Glyphs) -> Group:
    """Lines that are always there above lists that share what room is left."""
    room = height - BELOW - len(upper) - sum(len(section.always) for section in sections)
    rows = shares(room, [section.wants for section in sections])
    lower = [line for section, count in zip(sections, rows, strict=True) for line in section.cut(count)]
    shown = [*upper, *lower][: max(1, height - BELOW)]
    return Group(*(cut(line, width, glyphs) for line in shown))


def shares(room: int, wants: Sequence[int]) -> list[int]:
    """How many rows each list gets: one after the other takes one more, as long as there is room."""
    given = [0] * len(wants)
    while room > 0 and given != list(wants):
        for place, want in enumerate(wants):
            if room > 0 and given[place] < want:
                given[place] += 1
                room -= 1
    return given


def cut(line: Text, width: int, glyphs: Glyphs) -> Text:
    if line.cell_len > width:
        line.truncate(max(width - 1, 1), overflow="crop")
        line.append(glyphs.more)
    line.rstrip()
    line.end = "\n"
    return line
