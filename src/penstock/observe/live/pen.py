"""The pen: one region of the terminal that is drawn anew, and lines that scroll above it. For one thread."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TextIO

from rich.console import Group
from rich.live import Live
from rich.text import Text

from penstock.observe.live.state import State
from penstock.observe.live.terminal import Terminal
from penstock.observe.live.words import Glyphs

Draw = Callable[[State, int, int, float, Glyphs], Group]
SHOW_CURSOR = "\x1b[?25h"


class Pen:
    """Draws states with `draw`. Whatever else the process prints meanwhile scrolls above, too."""

    def __init__(self, stream: TextIO, draw: Draw) -> None:
        self.draw = draw
        self.terminal = Terminal(stream)
        self._live = Live(console=self.terminal, auto_refresh=False, redirect_stderr=sys.stderr.isatty())
        self._shown: list[Text] | None = None

    def show(self, state: State, lines: Sequence[str], now: float) -> None:
        """Lines above, then the state; nothing is written if neither is new."""
        self._live.start()
        width, height = self.terminal.size
        frame = self.draw(state, width, height, now, self.terminal.glyphs)
        shown = [line for line in frame.renderables if isinstance(line, Text)]
        with self.terminal:  # one write for all of it: no flicker
            if lines:
                self.terminal.print(Group(*map(Text, lines)), soft_wrap=True)
            if shown != self._shown:
                self._live.update(frame, refresh=True)
        self._shown = shown

    def lift(self) -> None:
        """The region stays as it is; the cursor is back, below it."""
        self._live.stop()

    def lift_anyhow(self) -> None:
        """The same after an error of drawing. That may come again, and was told already."""
        with suppress(Exception):
            self._live.update(Group())
            self._live.stop()
        self.plainly([f"{SHOW_CURSOR}\r"], end="")

    def plainly(self, lines: Sequence[str], end: str = "\n") -> None:
        """Lines without any art."""
        for line in lines:
            self.terminal.file.write(line + end)
        self.terminal.file.flush()

    def close(self) -> None:
        self.terminal.file.close()
