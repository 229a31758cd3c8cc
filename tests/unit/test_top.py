"""`penstock top`: the table, one pipeline opened, the keys, and the verb in a terminal and in a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.live_story import HOSTILE
from tests.terminal import InTerminal
from tests.unit.panorama_kit import Told

from penstock.cli.top.keys import Choice, meanings
from penstock.cli.top.screen import frame
from penstock.cli.top.table import as_json, as_lines, table
from penstock.ledger.lease import lease
from penstock.observe.events import PhaseStarted
from penstock.observe.live.words import ASCII, BLOCKS
from penstock.operate.panorama import Panorama
from penstock.operate.standings import Standing, Subject
from penstock.testing.past import Past

ALERT = {"alert": "lag_growing", "text": "it grows", "since": 1.0, "cause": "", "next_step": ""}


@pytest.fixture(scope="module")
def standings(tmp_path_factory: pytest.TempPathFactory) -> list[Standing]:
    """One that works, one that failed, one that died, one that never ran; and names that try to be something else."""
    root = tmp_path_factory.mktemp("top")
    subjects = [Subject(name, root / str(place)) for place, name in enumerate(["orders", HOSTILE, "clicks", "fresh"])]
    Past(root, state_name="0").run(3)
    works = Told(root / "0", "orders", every_seconds=10.0)
    works.at -= 100
    works.diary.board.update(started_at=works.at, read_limit=5000, pace="holds 20 s", alerts=(ALERT,))
    for number in range(9):
        works.at += 10
        works.batch(number, read=1000 * number)
        works.diary.history.tick(force=True)
    works.lag(end=12, at=time.time() - 3)
    works.diary.take(PhaseStarted(pipeline="p", batch_id=10, phase="pass"))
    works.leave()
    failed = Told(root / "1", HOSTILE.replace("\ud800", ""))
    failed.diary.ended("failed", HOSTILE)
    failed.leave()
    Told(root / "2", "clicks").leave()
    with lease(root / "0" / "lease", "orders", "r"):
        return Panorama(subjects).look()


def test_each_pipeline_is_a_line_with_its_state_in_a_word(standings: list[Standing]) -> None:
    head, *rows = [line.plain for line in table(standings, 120)]
    assert [head.split()[0], *head.split()[1:4]] == ["pipeline", "state", "fresh", "lag"]
    assert rows[0].startswith("  orders  ")
    states = [next(word for word in row.split() if word in ("working", "failed", "dead", "new")) for row in rows]
    assert states == ["working", "failed", "dead", "new"]
    assert " of 10 s" in rows[0]
    assert rows[0].rstrip()[-1] in BLOCKS.spark


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_no_line_is_wider_than_the_terminal_and_no_figure_is_cut(standings: list[Standing], width: int) -> None:
    shown = table(standings, width)
    assert max(line.cell_len for line in shown) <= width
    head, *rows = [line.plain for line in shown]
    assert "state" in head
    assert len({row.find("working") for row in rows if "working" in row}) == 1
    if width >= 60:
        assert all(word in head for word in ("fresh", "lag rows", "rows/s", "alerts")), "what matters is there"


def test_a_name_reaches_nobody_as_anything_but_letters(standings: list[Standing]) -> None:
    told = "\n".join(as_lines(standings, 120))
    assert "\x1b" not in told
    assert "\\x1b[2J" in told
    for choice in (Choice(), Choice(1, open=True)):
        assert all(line.plain.rstrip("\n").isprintable() for line in frame(standings, choice, 80, 24, BLOCKS))


def test_why_a_pipeline_does_not_go_on_and_which_alert_is_raised_is_said(standings: list[Standing]) -> None:
    told = "\n".join(as_lines(standings, 120))
    assert "orders (ALERT lag_growing): it grows" in told
    assert "clicks (dead): its process ended without a word" in told


@pytest.mark.parametrize("size", [(60, 12), (80, 24), (200, 60)])
def test_one_that_is_opened_shows_phases_partitions_sinks_alerts_and_pace(
    standings: list[Standing], size: tuple[int, int]
) -> None:
    lines = frame(standings, Choice(0, open=True), *size, BLOCKS)
    assert len(lines) == size[1]
    assert max(line.cell_len for line in lines) <= size[0]
    told = "\n".join(line.plain for line in lines)
    assert "orders  working" in told
    assert "ALERT" in told
    if size[1] > 20:
        parts = ("10: pass for", "last batch", "t-0", "lake", "up to 5,000 rows a batch (holds 20 s)")
        assert [part for part in parts if part not in told] == []


def test_a_long_list_keeps_the_chosen_one_in_sight(standings: list[Standing]) -> None:
    many = [standings[0]] * 100
    for place in (0, 50, 99):
        lines = [line.plain for line in frame(many, Choice(place), 80, 24, ASCII)]
        assert len(lines) == 24
        assert sum(line.startswith("> ") for line in lines) == 1
        assert any("more" in line for line in lines), "a hundred alerts are counted, not listed"


def test_keys_choose_open_go_back_help_and_end() -> None:
    assert meanings("jk\x1b[A\x1b[B\r?q") == ["down", "up", "up", "down", "open", "help", "quit"]
    assert meanings("\x1b") == ["back"]
    assert meanings("\x1b[15~jx") == [], "the rest of a strange sequence is no key"
    choice = Choice()
    for key, wanted in [
        ("up", Choice(0)),
        ("down", Choice(1)),
        ("open", Choice(1, open=True)),
        ("down", Choice(2, open=True)),
        ("down", Choice(2, open=True)),
        ("back", Choice(2)),
        ("first", Choice(0)),
        ("last", Choice(2)),
        ("help", Choice(2, help=True)),
        ("down", Choice(2)),
        ("quit", Choice(2, over=True)),
    ]:
        choice = choice.after(key, 3)
        assert choice == wanted, key


def test_scripts_get_every_figure(standings: list[Standing]) -> None:
    found = json.loads(json.dumps(as_json(standings)))
    assert [each["state"] for each in found["pipelines"]] == ["working", "failed", "dead", "new"]
    assert found["pipelines"][0]["alerts"] == [ALERT]
    assert found["pipelines"][1]["why"] == HOSTILE.replace("\ud800", "?"), "half a character has no form in JSON"
    assert found["pipelines"][0]["batch_id"] == 2


def penstock(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False, env=os.environ)


def test_the_verb_prints_once_for_a_state_and_says_what_it_cannot_find(tmp_path: Path) -> None:
    Told(tmp_path / "states" / "a", "orders").leave()
    done = penstock("top", "--once", "--json", "--state", "states", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["pipelines"]
    assert (found["pipeline"], found["state"]) == ("orders", "dead")
    empty = penstock("top", "--once", cwd=tmp_path)
    assert empty.returncode != 0
    assert "no pipeline file in this folder" in empty.stderr
    (tmp_path / "empty").mkdir()
    assert "is no state" in " ".join(penstock("top", "--state", "empty", cwd=tmp_path).stderr.split())
    assert "needs seconds" in penstock("top", "--every", "soon", "--state", "states", cwd=tmp_path).stderr


def test_the_files_of_the_folder_are_taken_where_none_is_named(tmp_path: Path) -> None:
    text = (
        "pipeline: orders\nsource: {kafka: {brokers: ['b:9092'], topics: [t]}}\ndecode: raw\n"
        "sinks: {lake: {delta: {table: ./lake}}}\n"
    )
    (tmp_path / "orders.yaml").write_text(text)
    (tmp_path / "other.yaml").write_text("no: pipeline\n")
    done = penstock("top", "--once", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [found] = json.loads(done.stdout)["pipelines"]
    assert (found["pipeline"], found["state"], found["file"]) == ("orders", "new", "orders.yaml")


def test_in_a_terminal_keys_work_and_the_screen_is_given_back(tmp_path: Path) -> None:
    Told(tmp_path / "one", "orders").leave()
    Told(tmp_path / "two", "payments").leave()
    process = InTerminal.penstock("top", "--state", tmp_path, "--every", "0.2", env={"NO_COLOR": "1"})
    process.wait_for("> orders")
    process.press(b"j")
    process.wait_for("> payments")
    process.press(b"\r")
    process.wait_for("payments  dead")
    process.press(b"\x1b")
    process.wait_for("> payments")
    process.press(b"?")
    process.wait_for("choose a pipeline")
    process.press(b"qq")
    assert process.end() == 0
    screen = process.screen
    assert screen.cursor_shown
    assert screen.unknown == []
    assert screen.text.strip() == "", "nothing of it stays"
    assert "\x1b[31m" not in process.written, "NO_COLOR is honoured"
