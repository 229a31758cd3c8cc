"""The live view on a real terminal device, fed with events: what is drawn, and that nothing of it harms a run."""

from __future__ import annotations

import io
import os
import sys
import termios
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from rich.console import Group
from tests.live_story import ORDERS, begun, committed, ended, progressed, started, waiting
from tests.terminal import Terminal

from penstock.observe.events import Event
from penstock.observe.live import view as view_module
from penstock.observe.live.render import render
from penstock.observe.live.state import State
from penstock.observe.live.terminal import suits
from penstock.observe.live.view import View
from penstock.observe.live.words import Glyphs
from penstock.testing.harness import wait_until

STORY: list[Event] = [started(), *begun(0), committed(0), progressed({"orders-0": 5}), ended("done")]


@pytest.fixture(autouse=True)
def _a_usual_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def viewing(terminal: Terminal, encoding: str = "utf-8", draw: object = render) -> Iterator[View]:
    with terminal.stream(encoding) as stream, View(ORDERS, threading.Event(), stream, draw) as view:  # type: ignore[arg-type]
        yield view


def test_the_last_state_stays_with_one_line_below_it() -> None:
    terminal = Terminal()
    with viewing(terminal) as view:
        for event in STORY:
            view.emit(event)
    screen = terminal.all_read()
    assert screen.cursor_shown
    assert screen.unknown == []
    assert screen.text.count("rows/s") == 1
    assert "10,000 read  9,900 written  98 rejected  2 dropped" in screen.text
    assert "orders: running, generation 1, first run" in screen.visible[0]
    assert "orders: done: 1 batch, 10,000 rows, 98 rejected, " in screen.above[-1]


def test_events_from_many_threads_are_all_counted() -> None:
    terminal = Terminal()
    with viewing(terminal) as view, ThreadPoolExecutor(8) as threads:
        list(threads.map(view.emit, [started(), *(committed(number) for number in range(400))]))
    assert "4,000,000 read" in terminal.all_read().text


def test_it_draws_four_times_a_second_at_most() -> None:
    terminal, began = Terminal(), time.monotonic()
    with viewing(terminal) as view:
        for number in range(20_000):
            view.emit(committed(number))
    seconds = time.monotonic() - began
    terminal.all_read()
    assert 1 <= terminal.written.count("rows/s") <= seconds / view_module.TICK_SECONDS + 3


def test_a_state_that_has_not_changed_is_not_drawn_again() -> None:
    terminal = Terminal()
    ticks = []

    def draw(state: State, width: int, height: int, _now: float, glyphs: Glyphs) -> Group:
        ticks.append(1)
        return render(state, width, height, 9.0, glyphs)

    with viewing(terminal, draw=draw) as view:
        view.emit(started())
        wait_until(lambda: len(ticks) > 4, "five ticks came")
    terminal.all_read()
    assert terminal.written.count("rows/s") <= 3, "the first, the ended one, and rich's own last"


def test_what_the_process_prints_scrolls_above() -> None:
    terminal = Terminal()
    kept = sys.stdout
    with viewing(terminal) as view:
        view.emit(started())
        wait_until(lambda: "rows/s" in terminal.screen.text, "the view is drawn")
        print("a step of the user's says [bold]hello[/]")
        view.emit(committed(0))
    screen = terminal.all_read()
    assert sys.stdout is kept
    assert screen.text.index("says [bold]hello[/]") < screen.text.index("rows/s")
    assert screen.text.count("rows/s") == 1


def test_a_stop_is_told_once_and_in_words() -> None:
    terminal, stopping = Terminal(), threading.Event()
    with terminal.stream() as stream, View(ORDERS, stopping, stream) as view:
        for event in [started(), *begun(7)]:
            view.emit(event)
        stopping.set()
        wait_until(lambda: "orders: finishing batch 7; Ctrl-C again does not hurt" in terminal.screen.text, "told")
        view.emit(committed(7))
        view.emit(ended("stopped"))
    assert terminal.all_read().text.count("orders: finishing batch 7") == 1


def failing_later(at: int) -> object:
    calls = []

    def draw(state: State, width: int, height: int, now: float, glyphs: Glyphs) -> Group:
        calls.append(1)
        if len(calls) > at:
            raise ValueError("no such \x1b[31mcolour")
        return render(state, width, height, now, glyphs)

    return draw


@pytest.mark.parametrize("frames", [0, 1])
def test_an_error_of_drawing_is_told_once_and_plain_lines_go_on(frames: int) -> None:
    terminal = Terminal()
    with viewing(terminal, draw=failing_later(frames)) as view:
        view.emit(started())
        wait_until(lambda: "could not be drawn" in terminal.screen.text, "the error is told")
        for event in [*begun(0), committed(0), waiting(), ended("done")]:
            view.emit(event)
    screen = terminal.all_read()
    assert screen.cursor_shown
    told = r"the live view could not be drawn (ValueError: no such \x1b[31mcolour); the run goes on, with plain lines"
    text = screen.text.replace("\n", "")
    assert text.count(told) == 1
    assert text.count("batch 0 committed: 10,000 read") == 1
    assert text.count("waiting: source kafka") == 1
    assert text.count("orders: done: 1 batch in") == 1
    assert text.count("running, generation 1") == 1, "a line that could not be drawn is not lost"
    assert text.count("orders: so far: 0 batches") == 1


def test_an_event_that_the_view_cannot_read_does_not_reach_the_run() -> None:
    terminal = Terminal()
    with viewing(terminal) as view:
        view.emit(started())
        view.emit(committed(0, sinks={"lake": {"rows": "many"}}))
        wait_until(lambda: "could not be drawn" in terminal.screen.text, "the error is told")
        view.emit(committed(1))
    assert "batch 1 committed" in terminal.all_read().text


def test_a_terminal_that_is_gone_does_not_end_the_run() -> None:
    terminal = Terminal(reads=False)
    with viewing(terminal) as view:
        view.emit(started())
        os.close(terminal.keyboard)
        for number in range(3000):
            view.emit(committed(number, replayed=True))
    assert view.state.totals.batches == 3000


def test_a_terminal_that_is_held_does_not_hold_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_module, "CLOSE_SECONDS", 0.2)
    terminal = Terminal(reads=False)
    stream = terminal.stream()
    with View(ORDERS, threading.Event(), stream) as view:
        for number in range(3000):
            view.emit(committed(number, replayed=True))
    assert view.state.totals.batches == 3000
    os.close(terminal.keyboard)  # frees the thread that still writes
    view._thread.join(10)
    assert not view._thread.is_alive()
    stream.close()


def test_a_run_that_is_refused_at_once_draws_nothing() -> None:
    terminal = Terminal()
    with pytest.raises(ValueError, match="refused"), viewing(terminal):
        raise ValueError("refused")
    assert terminal.all_read().text == ""


def test_a_failed_run_says_so() -> None:
    terminal = Terminal()

    def run() -> None:
        with viewing(terminal) as view:
            view.emit(started())
            view.emit(committed(0))
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run()
    screen = terminal.all_read()
    assert screen.cursor_shown
    assert "orders: failed: 1 batch, 10,000 rows, 98 rejected, " in screen.above[-1]


def test_no_color_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    with viewing(terminal) as view:
        for event in STORY:
            view.emit(event)
    terminal.all_read()
    assert "rows/s" in terminal.written
    assert "\x1b[3" not in terminal.written, "no colour"


def test_a_terminal_that_knows_only_ascii_gets_only_that() -> None:
    terminal = Terminal()
    with viewing(terminal, encoding="ascii") as view:
        for event in STORY:
            view.emit(event)
    terminal.all_read()
    assert terminal.written.isascii()
    assert "orders-0  5  ####" in terminal.screen.text


@pytest.mark.parametrize(
    ("term", "columns", "lines", "fine"),
    [
        ("xterm-256color", 80, 24, True),
        ("xterm", 40, 12, True),
        ("xterm", 39, 24, False),
        ("xterm", 80, 11, False),
        ("xterm", 0, 0, True),
        ("dumb", 80, 24, False),
        ("", 80, 24, False),
        (None, 80, 24, False),
    ],
)
def test_the_view_is_for_terminals_that_can_show_it(term: str | None, columns: int, lines: int, fine: bool) -> None:
    terminal = Terminal(reads=False)
    termios.tcsetwinsize(terminal.device, (lines, columns))
    with terminal.stream() as stream:
        assert suits(stream, {} if term is None else {"TERM": term}) is fine
    os.close(terminal.keyboard)


def test_a_pipe_is_no_terminal() -> None:
    assert not suits(io.StringIO(), {"TERM": "xterm"})
