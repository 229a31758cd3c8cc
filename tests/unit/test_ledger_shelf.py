"""A long life in few files: old records are folded, and nobody who reads them can tell."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from penstock import files
from penstock.files import here
from penstock.ledger import shelf as shelf_module
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Outcome
from penstock.ledger.shelf import Shelf
from penstock.ranges import Range
from penstock.sinks.contract import Receipt
from penstock.tally import Fates, Tally


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Archives of ten; of their real size only where a test is about that."""
    if request.node.name != "test_ten_thousand_batches_are_few_files":
        monkeypatch.setattr(shelf_module, "BLOCK", 10)
        monkeypatch.setattr(shelf_module, "LARGEST", 1000)


def filled(folder: Path, count: int) -> Shelf:
    made = Shelf(folder, "outcomes")
    (folder / "outcomes").mkdir(parents=True)
    for number in range(count):
        (folder / "outcomes" / f"{number}.json").write_text(json.dumps(record(number)))
    return made


def record(number: int) -> dict[str, object]:
    return {"batch_id": number, "text": f"é {number}"}


def on_disk(folder: Path) -> tuple[list[str], int]:
    archives = sorted(path.name for path in folder.glob("*.gz"))
    return archives, len(list((folder / "outcomes").iterdir()))


def test_the_newest_stay_files_and_the_rest_is_folded(tmp_path: Path) -> None:
    shelf = filled(tmp_path, 45)
    shelf.fold()
    assert on_disk(tmp_path) == ([f"outcomes-0000000{n}0-0000000{n}9.jsonl.gz" for n in range(3)], 15)


def test_readers_see_no_difference(tmp_path: Path) -> None:
    shelf = filled(tmp_path, 345)
    before = list(shelf.records())
    shelf.fold()
    assert list(shelf.records()) == before == [record(number) for number in range(345)]
    assert shelf.last == 344
    assert [shelf.get(number) for number in (0, 99, 100, 330, 344)] == [record(n) for n in (0, 99, 100, 330, 344)]
    assert shelf.get(345) is None
    assert [each["batch_id"] for each in shelf.records(since=317)] == list(range(317, 345))


def test_archives_of_one_size_become_one_of_the_next(tmp_path: Path) -> None:
    shelf = filled(tmp_path, 1260)
    shelf.fold()
    archives, left = on_disk(tmp_path)
    assert archives == [
        "outcomes-000000000-000000999.jsonl.gz",
        "outcomes-000001000-000001099.jsonl.gz",
        "outcomes-000001100-000001199.jsonl.gz",
        *(f"outcomes-0000012{n}0-0000012{n}9.jsonl.gz" for n in range(5)),
    ]
    assert left == 10
    assert [each["batch_id"] for each in shelf.records()] == list(range(1260))


def test_an_archive_can_be_read_by_a_person(tmp_path: Path) -> None:
    filled(tmp_path, 30).fold()
    [first, _] = sorted(tmp_path.glob("*.gz"))
    done = subprocess.run(["zcat", str(first)], capture_output=True, text=True, check=True)
    assert [json.loads(line)["batch_id"] for line in done.stdout.splitlines()] == list(range(10))


def test_what_is_folded_is_not_created_again(tmp_path: Path) -> None:
    shelf = filled(tmp_path, 30)
    shelf.fold()
    assert shelf.put(3, {"batch_id": 3, "text": "a process that slept for a week"}) == record(3)
    assert on_disk(tmp_path)[1] == 10


KILLED = """
import os, signal, sys
from pathlib import Path
from penstock import files
from penstock.ledger import shelf
shelf.BLOCK, shelf.LARGEST = 10, 1000
steps = int(sys.argv[2])
def counted(call):
    def wrapped(*args):
        global steps
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args)
    return wrapped
files.create_once = counted(files.create_once)
files.remove = lambda paths: [counted(Path.unlink)(path) for path in paths]
shelf.Shelf(Path(sys.argv[1]), "outcomes").fold()
"""


@pytest.mark.parametrize("steps", [0, 1, 4, 11, 12, 60, 100, 109, 110, 111, 115, 118])
def test_a_kill_while_folding_loses_nothing_and_is_made_good(tmp_path: Path, steps: int) -> None:
    shelf = filled(tmp_path, 119)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(steps)], check=False, env=env)
    assert done.returncode in (-9, 0)
    everything = [record(number) for number in range(119)]
    assert list(shelf.records()) == everything
    assert [shelf.get(number) for number in range(119)] == everything
    shelf.fold()
    assert list(shelf.records()) == everything


def test_one_who_folds_what_another_has_half_removed_keeps_everything(tmp_path: Path) -> None:
    shelf = filled(tmp_path, 30)
    bodies = {number: (tmp_path / "outcomes" / f"{number}.json").read_bytes() for number in range(10)}
    shelf.fold()
    for number in (7, 8, 9):
        (tmp_path / "outcomes" / f"{number}.json").write_bytes(bodies[number])
    shelf.fold()
    assert [each["batch_id"] for each in shelf.records()] == list(range(30))
    [first, _] = sorted(tmp_path.glob("*.gz"))
    assert len(gzip.decompress(first.read_bytes()).splitlines()) == 10


def outcome(number: int) -> Outcome:
    partitions = {("orders", part): Fates(seen=100, first=0, last=99) for part in range(12)}
    return Outcome(
        batch_id=number,
        digest=f"{number:064d}",
        ranges=tuple(Range("orders", part, number * 100, number * 100 + 100) for part in range(12)),
        gaps=(),
        read=1200,
        tally=Tally(partitions),
        receipts={"lake": Receipt("lake", "committed", number, 1200)},
        last_written={"lake": number},
        totals=Fates(seen=1200 * (number + 1)),
        committed_at="2026-11-15T10:00:00.000+00:00",
        seconds=1.0,
        phases={"pass": 0.5},
        replayed=False,
    )


def test_ten_thousand_batches_are_few_files(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, "p", 1)
    for kind in ("intents", "outcomes"):
        (here(ledger.folder) / kind).mkdir(parents=True)
    body = files.parse(tmp_path, files.to_json(outcome(0).to_json()))
    for number in range(10_000):
        (here(ledger.folder) / "outcomes" / f"{number}.json").write_text(json.dumps({**body, "batch_id": number}))
    ledger.open()
    assert sum(1 for path in here(ledger.folder).rglob("*") if path.is_file()) == 1000 + 9 + 1
    for number in (0, 4_321, 9_999):
        assert ledger.outcome(number) == replace(outcome(0), batch_id=number)
    assert [each.batch_id for each in ledger.outcomes(since=8_990)] == list(range(8_990, 10_000))


def test_closing_a_batch_folds_when_it_is_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.ledger.ledger.BLOCK", 10)
    ledger = Ledger(tmp_path, "p", 1)
    ledger.open()
    for number in range(40):
        ledger.intend(number, outcome(number).ranges, "code")
        ledger.close(outcome(number))
    for kind in ("intents", "outcomes"):
        assert len(list((here(ledger.folder) / kind).iterdir())) == 10
    assert [each.batch_id for each in ledger.outcomes()] == list(range(40))
    intent = ledger.intent(5)
    assert intent is not None
    assert intent.ranges == outcome(5).ranges
