"""`penstock top` in a terminal: the table or one pipeline, on a screen of its own that is gone when it ends."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence

from rich.console import Group
from rich.live import Live
from rich.text import Text

from penstock.cli.top.keys import HELP, Choice, Keyboard
from penstock.cli.top.one import opened
from penstock.cli.top.table import TROUBLE, table, troubles
from penstock.observe.live.render import BELOW, cut
from penstock.observe.live.terminal import Terminal
from penstock.observe.live.words import Glyphs
from penstock.operate.panorama import Panorama
from penstock.operate.standings import Standing


def watch(panorama: Panorama, every: float) -> None:
    """Draw and listen until somebody ends it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # it gives the terminal back on its way out
    terminal, choice = Terminal(sys.stdout), Choice()
    live = Live(console=terminal, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)
    with Keyboard().open() as keyboard, live:
        found, looked = panorama.look(), time.monotonic()
        while not choice.over:
            width, height = terminal.size
            live.update(Group(*frame(found, choice, width, height, terminal.glyphs)), refresh=True)
            for key in keyboard.pressed(max(0.0, looked + every - time.monotonic())):
                choice = choice.after(key, len(found))
            if time.monotonic() >= looked + every:
                found, looked = panorama.look(), time.monotonic()


def frame(found: Sequence[Standing], choice: Choice, width: int, height: int, glyphs: Glyphs) -> list[Text]:
    """The lines of one drawing, never more or wider than the terminal."""
    foot = Text("j k choose  Enter opens  ? help  q ends" if not choice.open else "Esc back  q ends", "dim")
    if choice.help:
        lines: Sequence[Text] = [Text(line) for line in HELP]
    elif choice.open and found:
        group = opened(found[choice.selected], width, height - 1 + BELOW, glyphs)
        lines = [line for line in group.renderables if isinstance(line, Text)]
    else:
        lines = _overview(found, choice, width, height - 1, glyphs)
    blank = [Text("")] * max(0, height - 1 - len(lines))
    return [cut(line.copy(), width, glyphs) for line in [*lines[: height - 1], *blank, foot]]


def _overview(found: Sequence[Standing], choice: Choice, width: int, height: int, glyphs: Glyphs) -> list[Text]:
    """The table around the chosen one, then what is wrong, as far as there is room."""
    head, *rows = table(found, width, glyphs, choice.selected)
    wrong = [Text(text, TROUBLE) for text in troubles(found)]
    room = max(1, height - 1 - min(len(wrong) + 1, height // 3) if wrong else height - 1)
    first = max(0, min(choice.selected - room // 2, len(rows) - room))
    shown = rows[first : first + room]
    left = height - 1 - len(shown) - 1
    if wrong and len(wrong) > left > 0:
        wrong = [*wrong[: left - 1], Text(f"and {len(wrong) - left + 1} more", "dim")]
    return [head, *shown, *([Text(""), *wrong] if wrong else [])]
