"""`penstock run` in a terminal, as a person sees it: true counts at the end, and a terminal that is left as it was."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.ledger.lease import lease
from penstock.testing.kafka import DevKafka, produce
from tests.broker.cases import ids, ids_case, values
from tests.terminal import InTerminal, Screen

Topic = Callable[..., str]


def left_in_order(screen: Screen) -> None:
    """The cursor is shown, at the start of a line of its own; nothing was written that a terminal would not know."""
    assert screen.cursor_shown
    assert screen.column == 0
    assert screen.unknown == []
    assert screen.text.count("rows/s") == 1, f"one view stays, and no leftovers of it:\n{screen.text}"


def test_the_screen_holds_the_true_counts_when_it_ends(kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic("orders", partitions=3)
    produce(kafka.bootstrap, name, [*values(0, 2990), b"oops", *[b'{"id": null}'] * 9])
    case = ids_case(tmp_path, kafka.bootstrap, name, pace={"max_rows": 1000})
    process = InTerminal.penstock("run", case.file, "--once")
    code, screen = process.end(), process.screen
    assert code == 0, screen.text
    left_in_order(screen)
    shown = "\n".join(screen.visible)
    assert "p  generation 1" in shown
    assert "3,000 read  2,990 written  10 rejected" in shown
    assert "10, 0.33 % of what was read" in shown
    assert "lake  delta  2,990 rows  version" in shown
    assert str(case.dead_letters)[-30:] in shown
    batches = case.status()["batch_id"] + 1
    assert f"p: done: {batches} batches, 3,000 rows, 10 rejected, " in screen.above[-1], shown
    assert len(ids(case)) == 2990
    assert "running, generation 1, first run" in screen.text, "what matters scrolls by as a line"


@pytest.mark.slow
@pytest.mark.parametrize("stop", [b"\x03\x03\x03", signal.SIGTERM], ids=["ctrl-c thrice", "sigterm"])
def test_a_stop_finishes_the_batch_and_gives_the_terminal_back(
    kafka: DevKafka, topic: Topic, tmp_path: Path, stop: bytes | signal.Signals
) -> None:
    name = topic("orders")
    produce(kafka.bootstrap, name, values(0, 20_000))
    case = ids_case(tmp_path, kafka.bootstrap, name, pace={"max_rows": 500})
    process = InTerminal.penstock("run", case.file, columns=60)
    process.wait_for("last batch")
    if isinstance(stop, bytes):
        process.press(stop)
    else:
        os.kill(process.popen.pid, stop)
    code, screen = process.end(), process.screen
    assert code == 0, screen.text
    left_in_order(screen)
    read = len(ids(case))
    assert ids(case) == sorted(set(ids(case)))
    last_word = "".join(screen.above[-2:])  # it is longer than 60 columns
    assert "p: stopped: " in last_word
    assert f" {read:,} rows, 0 rejected" in last_word
    assert "Traceback" not in screen.text


def test_an_error_stands_below_the_view_and_the_terminal_is_as_before(
    kafka: DevKafka, topic: Topic, tmp_path: Path
) -> None:
    name = topic("orders")
    produce(kafka.bootstrap, name, [*values(0, 100), b'{"id": -1}'])
    checks = [{"name": "not_negative", "rule": "id >= 0", "on_fail": "stop"}]
    case = ids_case(tmp_path, kafka.bootstrap, name, checks=checks)
    process = InTerminal.penstock("run", case.file, "--once")
    code, screen = process.end(), process.screen
    assert code == 1, screen.text
    left_in_order(screen)
    summary = next(place for place, line in enumerate(screen.visible) if "p: failed: 0 batches, 0 rows" in line)
    assert "not_negative" in "\n".join(screen.visible[summary + 1 :]), "the error is the last thing to be read"


def test_what_is_refused_at_once_shows_no_view(tmp_path: Path) -> None:
    case = ids_case(tmp_path, "127.0.0.1:1", "t")
    with lease(case.state / "lease", "p", "another"):
        process = InTerminal.penstock("run", case.file, "--once")
        code, screen = process.end(), process.screen
    assert code == 3
    assert "running already" in screen.text
    assert "rows/s" not in screen.text
    assert screen.cursor_shown


@pytest.mark.slow
def test_plain_lines_on_wish(kafka: DevKafka, topic: Topic, tmp_path: Path) -> None:
    name = topic("orders")
    produce(kafka.bootstrap, name, values(0, 10))
    case = ids_case(tmp_path, kafka.bootstrap, name)
    process = InTerminal.penstock("run", case.file, "--once", "--plain")
    assert process.end() == 0, process.screen.text
    assert "\x1b" not in process.written
    assert "p: batch 0 committed: 10 read, 10 written" in process.written
