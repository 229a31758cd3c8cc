"""A terminal for tests: what a program wrote becomes the screen that a person would see."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.cells import cell_len

from penstock.testing.harness import DEADLINE_SECONDS, wait_until

TOKEN = re.compile(r"\x1b\[(\??[0-9;]*)([A-Za-z])|[\r\n]|[^\x1b\r\n]+|\x1b.?", re.DOTALL)


class Screen:
    """Rows of cells, the cursor, and everything that has scrolled off. Knows what rich writes, and no more."""

    def __init__(self, columns: int = 80, lines: int = 24) -> None:
        self.columns, self.lines = columns, lines
        self.cells: list[list[str]] = [[]]
        self.row = self.column = 0
        self.cursor_shown = True
        self.unknown: list[str] = []
        self._before: tuple[list[list[str]], int, int] = ([[]], 0, 0)

    def feed(self, text: str) -> Screen:
        for match in TOKEN.finditer(text):
            if match[2]:
                self._control(match[1], match[2])
            else:
                self._write(match[0])
        return self

    @property
    def text(self) -> str:
        """All lines from the beginning."""
        return "\n".join("".join(row).rstrip() for row in self.cells)

    @property
    def visible(self) -> list[str]:
        return self.text.split("\n")[self._top :]

    @property
    def above(self) -> list[str]:
        """The lines above the cursor: below it may be blank ones, which a taller view left."""
        return self.text.split("\n")[: self.row]

    @property
    def _top(self) -> int:
        return max(0, len(self.cells) - self.lines)

    def _control(self, numbers: str, letter: str) -> None:
        count = int(numbers) if numbers.isdigit() else 1
        if letter == "A":
            self.row = max(self._top, self.row - count)
        elif letter == "K" and numbers == "2":
            self.cells[self.row] = []
        elif letter in "hl" and numbers == "?25":
            self.cursor_shown = letter == "h"
        elif letter in "hl" and numbers == "?1049":
            self._other_screen(letter == "h")
        elif letter == "H" and not numbers:
            self.row, self.column = self._top, 0
        elif letter != "m":
            self.unknown.append(f"{numbers}{letter}")

    def _other_screen(self, begins: bool) -> None:
        """A program may have a screen of its own; when it leaves, what was there before is there again."""
        if begins:
            self._before = self.cells, self.row, self.column
            self.cells, self.row, self.column = [[]], 0, 0
        else:
            self.cells, self.row, self.column = self._before

    def _write(self, text: str) -> None:
        if text == "\r":
            self.column = 0
        elif text == "\n":
            self._down()
        elif text.startswith("\x1b"):
            self.unknown.append(text)
        else:
            for letter in text:
                self._put(letter)

    def _put(self, letter: str) -> None:
        cells = cell_len(letter)
        if self.column + cells > self.columns:
            self._down()
            self.column = 0
        row = self.cells[self.row]
        row += [" "] * (self.column + cells - len(row))
        row[self.column : self.column + cells] = [letter, *[""] * (cells - 1)]
        self.column += cells

    def _down(self) -> None:
        self.row += 1
        if self.row == len(self.cells):
            self.cells.append([])


class Terminal:
    """A terminal, and a person who reads along. `device` is the program's end of it."""

    def __init__(self, columns: int = 80, lines: int = 24, *, reads: bool = True) -> None:
        self.columns, self.lines, self._written = columns, lines, b""
        self.keyboard, self.device = os.openpty()
        termios.tcsetwinsize(self.device, (lines, columns))
        self._reader = threading.Thread(target=self._read, daemon=True)
        if reads:
            self._reader.start()

    @property
    def written(self) -> str:
        return self._written.decode(errors="ignore")

    @property
    def screen(self) -> Screen:
        """What is to be seen now."""
        return Screen(self.columns, self.lines).feed(self.written)

    def stream(self, encoding: str = "utf-8") -> TextIO:
        """The program's end as its stdout; closing it hangs up."""
        return os.fdopen(self.device, "w", encoding=encoding)

    def all_read(self) -> Screen:
        """Everything that was written, once the program's end is closed."""
        self._reader.join(10)
        assert not self._reader.is_alive(), "somebody still holds the terminal"
        os.close(self.keyboard)
        return self.screen

    def _read(self) -> None:
        while True:
            try:
                part = os.read(self.keyboard, 65536)
            except OSError:  # Linux says so when the last writer has gone
                return
            if not part:
                return
            self._written += part


class InTerminal:
    """A program that runs in a terminal of its own, its controlling one: Ctrl-C reaches it as from a keyboard."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str] | None = None, columns: int = 80) -> None:
        self.terminal = Terminal(columns)
        device = self.terminal.device
        self.popen = subprocess.Popen(
            command,
            env={**os.environ, "TERM": "xterm-256color", **(env or {})},
            pass_fds=(device,),
            preexec_fn=lambda: os.login_tty(device),  # noqa: PLW1509 a test's process forks while no lock is held
        )
        os.close(device)

    @classmethod
    def penstock(cls, *arguments: str | Path, env: Mapping[str, str] | None = None, columns: int = 80) -> InTerminal:
        return cls([sys.executable, "-m", "penstock", *map(str, arguments)], env, columns)

    @property
    def written(self) -> str:
        return self.terminal.written

    @property
    def screen(self) -> Screen:
        return self.terminal.screen

    def wait_for(self, text: str) -> None:
        def look() -> bool:
            return text in self.screen.text or self.popen.poll() is not None

        wait_until(look, f"{text!r} was to be seen")
        assert text in self.screen.text, self.screen.text

    def press(self, keys: bytes) -> None:
        os.write(self.terminal.keyboard, keys)

    def end(self) -> int:
        """Its exit code, once all that it wrote is here."""
        try:
            code = self.popen.wait(DEADLINE_SECONDS)
        finally:
            self.popen.kill()  # where it did not end
        self.terminal.all_read()
        return code
