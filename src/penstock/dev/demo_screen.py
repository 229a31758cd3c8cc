"""What the demo shows: a line for each happening, and two that move while it goes on. In a pipe, lines only."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn


class Screen:
    """Lines and two bars: what was produced, what is committed."""

    def __init__(self, events: int, console: Console | None = None) -> None:
        self.console = console or Console(highlight=False)
        self.events = events
        self._bars = Progress(
            TextColumn("  [cyan]{task.fields[label]:<10}[/]"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:>9,.0f}  {task.fields[note]}"),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._rows = [
            self._bars.add_task("", total=events, label=label, note="") for label in ("produced", "committed")
        ]

    def __enter__(self) -> Screen:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bars.stop()

    def title(self, text: str) -> None:
        self._print(f"\n[bold]{text}[/]\n")

    def say(self, label: str, text: str) -> None:
        """One happening: a word for what it is, then what happened."""
        self._print(f"  [cyan]{label:<10}[/] {text}")

    def text(self, line: str = "") -> None:
        self._print(f"  {line}" if line else "")

    def produced(self, count: int) -> None:
        self._bars.update(self._rows[0], completed=count, note=f"of {self.events:,} events")

    def committed(self, count: int, batch: int, rejected: int, produced: int) -> None:
        self._bars.update(self._rows[1], completed=count, note=f"batch {batch}, {rejected:,} rejected")
        if not self.console.is_terminal:
            told = f"{count:,} of {produced:,} produced so far; batch {batch}, {rejected:,} rejected"
            self.say("committed", told)

    def command(self, line: str) -> None:
        """A command to paste: as it is, in one piece however narrow the terminal."""
        self.console.print(f"    {line}", soft_wrap=True, markup=False)

    def _print(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)
