"""Keys of `penstock top`, and what each of them changes."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

HELP = (
    "j k or arrows   choose a pipeline",
    "Enter           open it: batch, phases, alerts, partitions, rejects, sinks",
    "Esc or h        back to the table",
    "?               this help",
    "q               end",
)
KEYS = {
    "\x1b[A": "up", "\x1bOA": "up", "k": "up",
    "\x1b[B": "down", "\x1bOB": "down", "j": "down",
    "\r": "open", "\n": "open", "\x1b[C": "open", "l": "open",
    "\x1b": "back", "\x1b[D": "back", "h": "back", "\x7f": "back",
    "g": "first", "G": "last", "?": "help", "q": "quit", "\x04": "quit",
}  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """What is to be seen: which pipeline is chosen, and whether it is open."""

    selected: int = 0
    open: bool = False
    help: bool = False
    over: bool = False

    def after(self, key: str, count: int) -> Choice:
        """The choice once this was pressed, among so many pipelines. A key that means nothing changes nothing."""
        if key == "quit":
            return replace(self, over=True)
        if key == "help":
            return replace(self, help=not self.help)
        if self.help:
            return replace(self, help=False) if key else self
        step = {"up": -1, "down": 1, "first": -count, "last": count}.get(key, 0)
        selected = min(max(0, self.selected + step), max(0, count - 1))
        opened = True if key == "open" else False if key == "back" else self.open
        return replace(self, selected=selected, open=opened)


def meanings(text: str) -> list[str]:
    """What was pressed, in words. Escape sequences that are unknown mean nothing."""
    found: list[str] = []
    while text:
        known = next((key for key in sorted(KEYS, key=len, reverse=True) if text.startswith(key)), text[0])
        if known == "\x1b" and len(text) > 1:  # some other sequence: its letters are not keys
            return found
        found.append(KEYS.get(known, ""))
        text = text[len(known) :]
    return [each for each in found if each]


class Keyboard:
    """The keys of the terminal, one by one, without Enter; and the news that its size has changed."""

    def __init__(self) -> None:
        self.device = sys.stdin.fileno()
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._wakes, False)

    @contextmanager
    def open(self) -> Iterator[Keyboard]:
        """While the block runs; then the terminal is as it was."""
        before = termios.tcgetattr(self.device)
        resized = signal.signal(signal.SIGWINCH, lambda *_: None)
        woken = signal.set_wakeup_fd(self._wakes, warn_on_full_buffer=False)
        tty.setcbreak(self.device)
        try:
            yield self
        finally:
            signal.set_wakeup_fd(woken)
            signal.signal(signal.SIGWINCH, resized)
            termios.tcsetattr(self.device, termios.TCSADRAIN, before)

    def pressed(self, seconds: float) -> list[str]:
        """What was pressed, waiting so long for it; nothing, if only the size changed. `quit` if nobody is there."""
        ready, _, _ = select.select([self.device, self._woken], [], [], seconds)
        if self._woken in ready:
            os.read(self._woken, 1024)
        if self.device not in ready:
            return []
        read = os.read(self.device, 1024)
        return meanings(read.decode(errors="ignore")) if read else ["quit"]
