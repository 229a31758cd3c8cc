"""Create-once files: one winner of any race, whole or not there at all."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from penstock import files

RACERS, RACES = 8, 40


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_second_writer_gets_what_the_first_wrote(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "1.json"
    assert files.create_once(path, b"first") == b"first"
    assert files.create_once(path, b"second") == b"first"
    assert path.read_bytes() == b"first"


def _race(folder: str, me: int, barrier: Barrier, results: multiprocessing.Queue[tuple[int, bytes]]) -> None:
    for race in range(RACES):
        barrier.wait()
        results.put((race, files.create_once(Path(folder, f"{race}.json"), b"%d" % me * 1000)))


def test_of_many_racing_processes_one_wins_and_all_agree_who(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(RACERS), context.Queue()
    racers = [context.Process(target=_race, args=(str(tmp_path), me, barrier, results)) for me in range(RACERS)]
    for racer in racers:
        racer.start()
    told = [results.get(timeout=60) for _ in range(RACERS * RACES)]
    for racer in racers:
        racer.join()
    for race in range(RACES):
        stands = Path(tmp_path, f"{race}.json").read_bytes()
        assert {body for number, body in told if number == race} == {stands}
    assert names_in(tmp_path) == sorted(f"{race}.json" for race in range(RACES)), "no drafts are left"


def test_a_full_disk_leaves_neither_the_file_nor_a_draft(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from pathlib import Path; from penstock import files\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "try: files.create_once(Path(sys.argv[1]), b'x' * 5000)\n"
        "except OSError: sys.exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "1.json")], check=False)
    assert done.returncode == 7
    assert names_in(tmp_path) == []


def test_a_reader_never_sees_half_a_replaced_file(tmp_path: Path) -> None:
    path = tmp_path / "now.json"
    files.replace(path, b"{}")
    files.replace(path, b'{"a": 1}')
    assert files.read_json(path) == {"a": 1}
    assert names_in(tmp_path) == ["now.json"]


def test_what_is_not_there_reads_as_none(tmp_path: Path) -> None:
    assert files.read(tmp_path / "no") is None
    assert files.read_json(tmp_path / "no" / "where") is None
    assert files.numbered(tmp_path / "no") == []


@pytest.mark.parametrize(("names", "numbers"), [(["10.json", "9.json", ".9.json.ab", "x.json", "3"], [9, 10])])
def test_numbered_files_come_in_the_order_of_numbers(tmp_path: Path, names: list[str], numbers: list[int]) -> None:
    for name in names:
        (tmp_path / name).touch()
    assert files.numbered(tmp_path, ".json") == numbers
