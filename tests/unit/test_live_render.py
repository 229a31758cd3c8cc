"""The live view as text, in terminals of several sizes.

After a change of the view:  UPDATE_GOLDEN=1 pytest tests/unit/test_live_render.py
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from tests.live_story import (
    HOSTILE,
    after,
    alerted,
    begun,
    busy,
    committed,
    crowded,
    ended,
    hostile,
    progressed,
    started,
    waiting,
)
from tests.terminal import Screen

from penstock.observe.events import UnknownFields
from penstock.observe.live.facts import Facts
from penstock.observe.live.render import BELOW, render, shares
from penstock.observe.live.state import State
from penstock.observe.live.words import ASCII, BLOCKS, Glyphs, bar, lasting, segments, share, sparkline, tail
from penstock.observe.logs import plain_line, printable

GOLDEN = Path(__file__).parent / "golden_live"
STORIES = {
    "starting": State(Facts("orders", {"lake": "delta"}, "/data/lake/orders_dead", 10.0), 0.0),
    "busy": busy(),
    "alerted": alerted(),
    "crowded": crowded(),
    "hostile": hostile(),
    "waiting": after([started(), *begun(0), committed(0), progressed({"orders-0": 0}), waiting()]),
    "stopping": busy().asked_to_stop(),
    "done": busy().after(committed(40), 415.0).after(ended(), 416.0),
}


def drawn(state: State, width: int, height: int, now: float = 415.5, glyphs: Glyphs = BLOCKS) -> str:
    """As it leaves rich, with colours and all."""
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system="truecolor")
    console.print(render(state, width, height, now, glyphs))
    return out.getvalue()


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 24)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("story", STORIES)
def test_the_view_looks_like_this(story: str, size: tuple[int, int]) -> None:
    width, height = size
    shown = Screen(width, height).feed(drawn(STORIES[story], width, height).replace("\n", "\r\n")).text
    golden = GOLDEN / f"{story}_{width}x{height}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("height", [5, 12, 24, 40, 100])
@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("story", STORIES)
def test_it_is_never_larger_than_the_terminal(story: str, width: int, height: int) -> None:
    text = Screen(1000, 1000).feed(drawn(STORIES[story], width, height).replace("\n", "\r\n")).text.rstrip("\n")
    rows = text.split("\n")
    assert len(rows) <= height - BELOW
    assert max(map(cell_len, rows)) <= width


def test_no_name_reaches_the_terminal_as_anything_but_letters() -> None:
    screen = Screen(200, 60).feed(drawn(hostile(), 200, 60).replace("\n", "\r\n"))
    assert screen.unknown == [], "no escape sequence but ours"
    assert "[bold red]x[/]" in screen.text, "what looks like markup is shown as it is"
    assert r"\x1b[2J" in screen.text
    assert r"\u202e" in screen.text
    assert r"\ud800" in screen.text
    assert ":smile:" in screen.text


@given(st.text(max_size=20), st.integers(20, 130), st.integers(5, 50))
def test_any_name_at_any_size_is_drawn(name: str, width: int, height: int) -> None:
    facts = Facts(name, {name: name}, name, 1.0)
    sinks = {name: {"version": 1, "rows": 5}}
    events = [started(), committed(0, rejected={name: 1}, sinks=sinks), progressed({name: 3}), waiting(name)]
    text = drawn(after(events, State(facts, 0.0)), width, height)
    assert len(text.rstrip("\n").split("\n")) <= max(1, height - BELOW)


def test_a_terminal_without_blocks_gets_ascii() -> None:
    assert drawn(busy(), 80, 24, glyphs=ASCII).isascii()
    assert not drawn(busy(), 80, 24).isascii()


def test_a_plain_line_cannot_be_forged_by_a_field_name() -> None:
    line = plain_line(UnknownFields(pipeline="p", batch_id=1, fields={HOSTILE: 1}))
    assert line.isprintable()
    assert printable("größe 数量") == "größe 数量"


@pytest.mark.parametrize(
    ("room", "wants", "given_"),
    [
        (10, [3, 4], [3, 4]),
        (5, [9, 1, 9], [2, 1, 2]),
        (0, [3, 4], [0, 0]),
        (-4, [3], [0]),
        (4, [0, 9, 0], [0, 4, 0]),
        (1, [5, 5], [1, 0]),
    ],
)
def test_rows_are_shared_out_in_turn(room: int, wants: list[int], given_: list[int]) -> None:
    assert shares(room, wants) == given_


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0 s"), (59.9, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (7500, "2 h 5 min"), (273_600, "3 d 4 h")],
)
def test_times_are_told_in_two_units_at_most(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


def test_something_is_never_shown_as_nothing() -> None:
    assert bar(1, 1_000_000, 10, BLOCKS) == "█"
    assert bar(0, 10, 10, BLOCKS) == ""
    assert share(1, 10**9) == "<0.01 %"
    assert share(0, 10**9) == "0.00 %"


def test_phases_fill_the_bar_up_to_the_trigger_and_no_further() -> None:
    assert segments([1.0, 0.0, 1.0], 10.0, 10, BLOCKS) == "█▓········"
    assert segments([30.0, 1.0], 10.0, 10, BLOCKS) == "██████████"
    assert segments([], 0.0, 3, BLOCKS) == "···"


def test_a_sparkline_shows_the_newest_values() -> None:
    assert sparkline([9, 0, 4, 8], 3, BLOCKS) == "▁▅█"
    assert sparkline([], 10, BLOCKS) == ""
    assert sparkline([0, 0], 10, BLOCKS) == "▁▁"


def test_a_path_keeps_its_end() -> None:
    assert tail("/a/b/orders_dead", 8, BLOCKS) == "…rs_dead"
    assert tail("/a/注文", 4, BLOCKS) == "…文"
    assert tail("short", 9, BLOCKS) == "short"
