"""What others do to the log while we stand on it, what a kill leaves in it, and two writers at once."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from tests.contracts.append_kit import APP, append, ids, lake, log_of

from penstock.errors import TableChanged
from penstock.sinks.contract import Frozen
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.sinks.delta.folder import Folder
from penstock.testing.sink_suite import COLUMNS, freeze, key, rows, write

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
