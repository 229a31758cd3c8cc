"""Our own commit into a table's log: what it reads, what it leaves behind, and what others may do to the log."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.errors import TableChanged
from penstock.sinks.contract import CLOSED, Frozen
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.sinks.delta.folder import Folder
from penstock.testing.large_table import make
from penstock.testing.sink_suite import COLUMNS, freeze, key, rows, write

MANY = 50_000
APP = key(0).app


def lake(table: str) -> DeltaCommitter:
    return DeltaCommitter("lake", table)


def log_of(table: str) -> Path:
    return Path(table) / "_delta_log"


def ids(table: str) -> list[int]:
    return sorted(pa.table(DeltaTable(table).scan()).column("id").to_pylist())


def append(table: str, start: int) -> None:
    """What another writer does."""
    write_deltalake(table, pa.table(rows(1, start=start)), mode="append")


listeners: list[list[str]] = []
"""Those who want to know which files are opened. A hook cannot be taken away again."""


def _heard(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and not isinstance(args[0], int):  # a number is a file that is open already
        for names in listeners:
            names.append(Path(os.fsdecode(args[0])).name)


sys.addaudithook(_heard)


@contextmanager
def listening() -> Iterator[list[str]]:
    """The names of the files that Python opens meanwhile."""
    listeners.append([])
    try:
        yield listeners[-1]
    finally:
        listeners.pop()


def bytes_read() -> int:
    """What this process has read so far from any file, in Python or beneath it."""
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])


def work_of_a_batch(committer: DeltaCommitter, frozen: Frozen, number: int) -> tuple[int, set[str]]:
    """Bytes read and files opened by everything that a batch asks of its committer."""
    before = bytes_read()
    with listening() as names:
        committer.watermark(APP)
        committer.undone(APP)
        committer.prepare(COLUMNS)
        committer.verify(frozen, key(number))
        assert committer.commit(frozen, key(number), {}).how == "committed"
    return bytes_read() - before, {name for name in names if "tmp" not in name}


def test_the_work_of_a_commit_does_not_grow_with_the_table(table: str) -> None:
    sizes = {}
    for files in (200, MANY):
        each = f"{table}-{files}"
        make(each, files)
        committer = lake(each)
        frozen = freeze(committer, rows(1))
        write(committer, 0, rows(1, start=5))
        work = [work_of_a_batch(committer, frozen, number) for number in range(1, 6)]
        version = DeltaTable(each).version()
        sizes[files] = max(read for read, _ in work)
        allowed = {"_delta_log", *(f"{number:020d}.json" for number in range(version - 4, version + 1))}
        assert {name for _, names in work for name in names} == allowed
    assert sizes[MANY] <= sizes[200] + 1000 < 10_000, sizes
    assert len(DeltaTable(f"{table}-{MANY}").file_uris()) == MANY + 2


def test_a_commit_to_a_table_that_is_there_needs_no_delta_rs(table: str) -> None:
    frozen = freeze(lake(table), rows(2))
    body = json.dumps(frozen.to_json())
    code = (
        "import json, sys\n"
        "from penstock.sinks.contract import Frozen\n"
        "from penstock.sinks.delta.committer import DeltaCommitter\n"
        "from penstock.sinks.contract import WriteKey\n"
        "frozen = Frozen.from_json(json.loads(sys.argv[2]))\n"
        "made = DeltaCommitter('lake', sys.argv[1]).commit(frozen, WriteKey('shop', 1, 'lake', 0, 'd'), {})\n"
        "print(made.how, 'deltalake' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, table, body], check=True, stdout=subprocess.PIPE, timeout=120)
    assert ran.stdout.split() == [b"committed", b"False"]
    assert ids(table) == [0, 1]


def test_the_commit_says_what_spark_and_delta_rs_say(table: str) -> None:
    committer = lake(table)
    receipt = write(committer, 3, rows(2))
    path = log_of(table) / f"{receipt.version:020d}.json"
    info, transaction, added = (json.loads(line) for line in path.read_text().splitlines())
    assert info["commitInfo"]["operation"] == "WRITE"
    assert info["commitInfo"]["isBlindAppend"] is True
    assert info["commitInfo"]["operationMetrics"]["numOutputRows"] == "2"
    assert (transaction["txn"]["appId"], transaction["txn"]["version"]) == (APP, 3)
    assert json.loads(added["add"]["stats"])["numRecords"] == 2
    assert DeltaTable(table).history(1)[0]["engineInfo"].startswith("penstock/")
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


# -- where the picture begins ------------------------------------------------------------------------------------


def in_parts(table: str) -> None:
    """The checkpoint as an older Spark would have written a large one: in two files."""
    [whole] = log_of(table).glob("*.checkpoint.parquet")
    rows_of = pq.read_table(whole)
    half = rows_of.num_rows // 2
    for number, part in enumerate((rows_of.slice(0, half), rows_of.slice(half)), start=1):
        pq.write_table(part, whole.with_name(whole.name.replace(".parquet", f".{number:010d}.{2:010d}.parquet")))
    whole.unlink()
    pointer = json.loads((log_of(table) / "_last_checkpoint").read_text())
    (log_of(table) / "_last_checkpoint").write_text(json.dumps({**pointer, "parts": 2}))


def cut(table: str) -> None:
    """The newest checkpoint as a disk that failed leaves it."""
    newest = max(log_of(table).glob("*.checkpoint.parquet"))
    newest.write_bytes(newest.read_bytes()[:100])


def half_of_it(table: str) -> None:
    in_parts(table)
    max(log_of(table).glob("*.checkpoint.*.parquet")).unlink()


def pointer(text: str) -> Callable[[str], None]:
    def write_it(table: str) -> None:
        (log_of(table) / "_last_checkpoint").write_text(text)

    return write_it


def clean(table: str) -> None:
    """Take away every commit before the newest checkpoint."""
    newest = int(max(log_of(table).glob("*.checkpoint.*parquet")).name[:20])
    for number in range(newest):
        (log_of(table) / f"{number:020d}.json").unlink(missing_ok=True)


def in_parts_and_cleaned(table: str) -> None:
    in_parts(table)
    clean(table)


def without_commit_of_its_own(table: str) -> None:
    clean(table)
    DeltaTable(table).create_checkpoint()
    clean(table)
    (log_of(table) / f"{DeltaTable(table).version():020d}.json").unlink()


BEGINNINGS: dict[str, Callable[[str], None]] = {
    "as it is": lambda _: None,
    "cleaned": clean,
    "nothing but a checkpoint": without_commit_of_its_own,
    "a checkpoint in parts": in_parts,
    "a checkpoint in parts, cleaned": in_parts_and_cleaned,
    "a checkpoint that lacks a part": half_of_it,
    "a damaged checkpoint": cut,
    "no pointer": lambda table: (log_of(table) / "_last_checkpoint").unlink(),
    "a damaged pointer": pointer('{"vers'),
    "a pointer that is old": pointer('{"version":1,"size":3}'),
    "a pointer that lies": pointer('{"version":999,"size":3}'),
}


DELTA_RS_GIVES_UP = {"a checkpoint that lacks a part", "a damaged checkpoint", "a pointer that lies"}


def ids_by_hand(table: str) -> list[int]:
    """What a reader sees that reads every commit from the first on."""
    lines = [line for path in sorted(log_of(table).glob("*.json")) for line in path.read_text().splitlines()]
    files = [json.loads(line)["add"]["path"] for line in lines if line.startswith('{"add"')]
    return sorted(number for file in files for number in pq.read_table(Path(table) / file)["id"].to_pylist())


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_wherever_the_log_begins_the_batch_is_known_and_the_next_one_lands(beginning: str, table: str) -> None:
    committer = lake(table)
    frozen = [freeze(committer, rows(1, start=number)) for number in range(5)]
    for number in range(3):
        committer.commit(frozen[number], key(number), {})
    DeltaTable(table).create_checkpoint()
    committer.commit(frozen[3], key(3), {})
    BEGINNINGS[beginning](table)
    for witness in (lake(table), committer):
        assert witness.watermark(APP) == 3
        assert witness.watermark("another.g1.lake") is None
        assert witness.commit(frozen[3], key(3), {}).how == "recognised"
    fresh = lake(table)
    assert fresh.commit(frozen[4], key(4), {}).how == "committed"
    assert fresh.watermark(APP) == committer.watermark(APP) == 4
    read = ids_by_hand if beginning in DELTA_RS_GIVES_UP else ids
    assert read(table) == [0, 1, 2, 3, 4]


def test_a_log_with_a_hole_is_not_written_to(table: str) -> None:
    committer = lake(table)
    frozen = freeze(committer, rows(1))
    for number in range(3):
        append(table, number)
    (log_of(table) / f"{2:020d}.json").unlink()
    with pytest.raises(Exception, match="cannot be read"):
        lake(table).commit(frozen, key(0), {})
    assert max(path.name for path in log_of(table).glob("*.json")) == f"{3:020d}.json"


# -- what others do to the log while we stand on it ----------------------------------------------------------------


def others_go_on_and_clean(table: str, *, keep: int | None = None) -> None:
    """Other writers append, write a checkpoint and clean the log, all but one commit."""
    for number in range(4):
        append(table, 100 + number)
    DeltaTable(table).create_checkpoint()
    for path in log_of(table).glob("*.json"):
        if int(path.stem) < DeltaTable(table).version() and int(path.stem) != keep:
            path.unlink()


@pytest.mark.parametrize("stays", [True, False])
def test_a_log_that_was_cleaned_under_us_is_read_anew(stays: bool, table: str) -> None:
    committer = lake(table)
    version = write(committer, 0, rows(1)).version
    frozen = freeze(committer, rows(1, start=1))
    others_go_on_and_clean(table, keep=version if stays else None)
    receipt = committer.commit(frozen, key(1), {})
    assert (receipt.how, receipt.version) == ("committed", version + 5)
    assert ids(table) == [0, 1, 100, 101, 102, 103]


def after_our_last_look(committer: DeltaCommitter, monkeypatch: pytest.MonkeyPatch, deed: Callable[[], object]) -> None:
    real = committer.watch.tail.append
    left = [deed]

    def interrupted(folder: Folder, body: bytes) -> int | None:
        while left:
            left.pop()()
        return real(folder, body)

    monkeypatch.setattr(committer.watch.tail, "append", interrupted)


def test_a_log_that_was_cleaned_after_our_last_look_does_not_swallow_the_batch(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    committer = lake(table)
    write(committer, 0, rows(1))
    frozen = freeze(committer, rows(1, start=1))
    after_our_last_look(committer, monkeypatch, lambda: others_go_on_and_clean(table))
    assert committer.commit(frozen, key(1), {}).how == "committed"
    assert ids(table) == [0, 1, 100, 101, 102, 103]
    assert lake(table).watermark(APP) == 1


def test_a_table_made_anew_after_our_last_look_stays_as_it_was_made(
    table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    committer = lake(table)
    write(committer, 0, rows(1))
    frozen = freeze(committer, rows(1, start=1))

    def make_anew() -> None:
        shutil.rmtree(table)
        lake(table).prepare(COLUMNS)

    after_our_last_look(committer, monkeypatch, make_anew)
    with pytest.raises(TableChanged, match="another table now"):
        committer.commit(frozen, key(1), {})
    assert [path.name for path in log_of(table).iterdir()] == [f"{0:020d}.json"]


def test_a_commit_that_spark_renamed_its_own_over_is_made_again(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    committer = lake(table)
    write(committer, 0, rows(1))
    frozen = freeze(committer, rows(1, start=1))
    theirs = _commit_of_another(table)
    real = os.link
    left = [theirs]

    def overtaken(source: str, name: str, **where: Any) -> None:
        real(source, name, **where)
        while left:
            left.pop().replace(log_of(table) / name)

    monkeypatch.setattr("penstock.sinks.delta.folder.os.link", overtaken)
    receipt = committer.commit(frozen, key(1), {})
    assert (receipt.how, receipt.version) == ("committed", 3)
    assert ids(table) == [0, 1, 77]


def _commit_of_another(table: str) -> Path:
    """The commit of another writer, ready to be renamed into place."""
    append(table, 77)
    path = log_of(table) / f"{2:020d}.json"
    return path.rename(path.with_suffix(".theirs"))


# -- crashes -------------------------------------------------------------------------------------------------------


def _commit_and_die(table: str, frozen: Frozen, place: str) -> None:
    from penstock import failpoints

    failpoints._armed = failpoints._arm(place)
    lake(table).commit(frozen, key(1), {})


@pytest.mark.parametrize(("place", "then"), [("before:link", "committed"), ("after:link", "recognised")])
def test_a_process_that_is_killed_at_its_commit_leaves_a_whole_commit_or_none(
    place: str, then: str, table: str
) -> None:
    write(lake(table), 0, rows(1))
    frozen = freeze(lake(table), rows(2, start=1))
    process = multiprocessing.get_context("spawn").Process(target=_commit_and_die, args=(table, frozen, place))
    process.start()
    process.join(timeout=60)
    assert process.exitcode == -9
    left = [path for path in log_of(table).iterdir() if path.suffix == ".tmp"]
    assert len(left) == (1 if place == "before:link" else 0)
    assert ids(table) == ([0] if place == "before:link" else [0, 1, 2])
    assert lake(table).commit(frozen, key(1), {}).how == then
    assert ids(table) == [0, 1, 2]


def test_a_torn_draft_is_nobody_s_commit(table: str) -> None:
    committer = lake(table)
    write(committer, 0, rows(1))
    (log_of(table) / f".{2:020d}.json.{'0' * 32}.tmp").write_bytes(b'{"commitInfo":{"time')
    assert write(committer, 1, rows(1, start=1)).version == 2
    assert write(lake(table), 2, rows(1, start=2)).version == 3
    assert ids(table) == [0, 1, 2]


# -- at once with others -------------------------------------------------------------------------------------------


def _append_often(table: str, times: int, barrier: Any) -> None:
    barrier.wait(timeout=60)
    for number in range(times):
        append(table, 1000 + number)


def test_delta_rs_in_another_process_and_we_lose_nothing_of_each_other(table: str) -> None:
    committer = lake(table)
    shares = [freeze(committer, rows(1, start=number), tag=str(number)) for number in range(60)]
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    rival = context.Process(target=_append_often, args=(table, 20, barrier))
    rival.start()
    barrier.wait(timeout=60)
    for number, share in enumerate(shares):
        assert committer.commit(share, key(number), {}).how == "committed"
    rival.join(timeout=120)
    assert rival.exitcode == 0
    assert ids(table) == [*range(60), *range(1000, 1020)]
    assert DeltaTable(table).version() == 80


# -- what the log tells --------------------------------------------------------------------------------------------


def test_what_the_preflight_asks_reads_no_commit_twice(table: str) -> None:
    write(lake(table), 0, rows(1))
    for number in range(10):
        append(table, 100 + number)
    DeltaTable(table).create_checkpoint()
    committer = lake(table)
    with listening() as names:
        for _ in range(3):
            assert (committer.story(APP) or {})["batch_id"] == 0
            assert committer.undone(APP) == []
            assert committer.story("shop.g2.lake") is None
            assert committer.undone("shop.g2.lake") == []
    commits = [name for name in names if name.endswith(".json")]
    assert {name: commits.count(name) for name in commits if name < f"{11:020d}" and name != f"{1:020d}.json"} == {
        f"{number:020d}.json": 1 for number in range(2, 11)
    }


def test_a_generation_is_closed_by_our_own_commit_and_by_delta_rs_where_it_must(table: str) -> None:
    committer = lake(table)
    write(committer, 0, rows(1))
    committer.close(key(CLOSED))
    committer.close(key(CLOSED))
    assert DeltaTable(table).version() == 2
    assert (committer.story(APP) or {})["batch_id"] == 0
    DeltaTable(table).alter.add_constraint({"positive": "id >= 0"})
    lake(table).close(key(CLOSED - 1, "other"))
    assert DeltaTable(table).transaction_version(APP) == CLOSED
