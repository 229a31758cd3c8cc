"""The README's way to a topic of one's own, taken for real: its commands, its files, a real broker, a real run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from penstock.dev.kafka import down
from tests.docs.pages import ROOT, Block, Command, bare, blocks_of, commands_of, table_after

README = ROOT / "README.md"
SET_UP = {"make setup", "source .venv/bin/activate"}
"""What the machine that runs the tests has done already."""
DEADLINE_SECONDS = 240


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of a user's own, with the files that the README shows."""
    place = tmp_path / "shop"
    place.mkdir()
    (place / "orders.yaml").write_text(blocks_of(README, "yaml")[0].text)
    (place / "orders.jsonl").write_text(blocks_of(README, "jsonl")[0].text)
    yield place
    down(place)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """As in an activated shell: `penstock` is on the path."""
    script = tmp_path / "bin" / "penstock"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m penstock "$@"\n')
    script.chmod(0o755)
    path = f"{script.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src")}


def after_heading(heading: str) -> list[Command]:
    """The commands of the README between this heading and the next of its level."""
    start = README.read_text(encoding="utf-8").splitlines().index(heading) + 1
    lines = README.read_text(encoding="utf-8").splitlines()
    end = next(number for number in range(start, len(lines)) if lines[number].startswith("## ")) + 1
    consoles = [block for block in blocks_of(README, "console") if start < block.line < end]
    return [command for block in consoles for command in commands_of(block)]


def typed(line: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}"
    return done.stdout


def python_blocks() -> list[Block]:
    pages = (README, ROOT / "docs" / "dead-letters.md")
    return [block for page in pages for block in blocks_of(page, "python")]


@pytest.mark.timeout(900)
def test_the_way_to_a_topic_of_ones_own_works_as_the_readme_says(folder: Path, environment: dict[str, str]) -> None:
    said = []
    for command in after_heading("## Your own topic"):
        if command.line in SET_UP:
            continue
        said.append(typed(command.line, folder, environment))
        for line in command.shown:
            assert line in said[-1].splitlines(), f"{command.line} said\n{said[-1]}"
    told = "\n".join(said)
    [promised] = re.findall(r"\d+ read, \d+ written, \d+ rejected", blocks_of(README, "console")[0].text)
    assert told.count(f"orders: batch 0 committed: {promised}") == 1, told
    assert told.count(": done: ") == 2
    assert [row["order_id"] for row in rows(folder / "lake" / "orders", "order_id")] == [1, 2, 3]
    assert [row["order_id"] for row in rows(folder / "lake" / "first", "order_id")] == [1, 2, 3, 4, 5]
    check_dead_letters(folder)
    for block in python_blocks():
        shown = subprocess.run(
            [sys.executable, "-c", block.text], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        assert shown.returncode == 0, f"{block.place}\n{shown.stderr}"
        assert "missing_field" in shown.stdout, block.place


def rows(table: Path, by: str) -> list[dict[str, Any]]:
    return sorted(DeltaTable(str(table)).to_pyarrow_table().to_pylist(), key=lambda row: row[by])


def check_dead_letters(folder: Path) -> None:
    """The table that the README shows is what is there."""
    found = rows(folder / "state" / "orders" / "dead_letters", "code")
    shown = [[bare(row[0]), bare(row[1]), row[2]] for row in table_after(README, "| code | field | detail |")]
    assert shown == [[row["code"], row["field"] or "NULL", row["detail"]] for row in found]
