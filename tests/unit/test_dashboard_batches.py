"""Batches, days and dead letters that are begun, archived, over, new or many: each is shown, and little is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.dashboard_kit import noon, tags

from penstock.ledger.shelf import Shelf
from penstock.observe import history
from penstock.observe import now as present
from penstock.operate import letters
from penstock.testing.dashboard import dashboard
from penstock.testing.kept_state import KeptState


@pytest.mark.parametrize(("frozen", "stage"), [(False, "begun"), (True, "frozen")])
def test_a_batch_that_was_begun_and_not_committed_is_shown_as_that(tmp_path: Path, frozen: bool, stage: str) -> None:
    state = KeptState(tmp_path, batches=2).write()
    number = state.begin(freeze=frozen)
    with dashboard([state.state]) as board:
        assert board.get("/pipelines/orders/batches")["open"] == number
        batch = board.get(f"/pipelines/orders/batches/{number}")
        assert (batch["stage"], batch["committed_at"], batch["offsets"]) == (stage, None, 5)
        entries = board.get("/pipelines/orders/ledger")["entries"]
        assert [(entry["batch_id"], entry["stage"]) for entry in entries] == [
            (2, stage), (1, "committed"), (0, "committed")
        ]  # fmt: skip


def test_archived_batches_are_found_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.ledger.shelf.BLOCK", 10)
    state = KeptState(tmp_path, batches=45, topics=("t",), partitions=1).write()
    shelf = Shelf(state.state / "ledger" / "g1", "outcomes")
    shelf.fold()
    assert shelf.archives()
    assert shelf.newest(100) == list(range(44, -1, -1))
    assert shelf.newest(7, 12) == list(range(11, 4, -1))
    with dashboard([state.state]) as board:
        page = board.get("/pipelines/orders/batches?limit=30&before=20")
        assert [batch["batch_id"] for batch in page["batches"]] == list(range(19, -1, -1))
        assert board.get("/pipelines/orders/batches/3")["batch_id"] == 3


def test_the_history_of_days_that_are_over_is_read_as_well(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=30, until=noon() - 86_400).write()
    [day] = (state.state / "progress").glob("*.jsonl")
    with dashboard([state.state]) as board:
        before = board.get("/pipelines/orders/history?span=7d")
    history.fold(day.parent, day.name[:10])
    with dashboard([state.state]) as board:
        after = board.get("/pipelines/orders/history?span=7d")
    assert after["rows_per_second"] == before["rows_per_second"]
    assert any(after["rows_per_second"])


def test_what_was_read_stays_when_a_day_is_folded_under_the_reader(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=20, until=noon()).write()
    [day] = (state.state / "progress").glob("*.jsonl")
    with dashboard([state.state]) as board:
        before = board.get("/pipelines/orders/history?span=7d")
        history.fold(day.parent, day.name[:10])
        assert board.get("/pipelines/orders/history?span=7d") == before


def test_only_the_newest_files_of_a_large_dead_letter_table_are_opened(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=1).write()
    for number in range(letters.MOST_FILES + 4):
        state.dead_letters([f"{number}".encode()])
    found = letters.sample(str(state.state / "dead_letters"), 100)
    assert (found.looked, found.files) == (letters.MOST_FILES, letters.MOST_FILES + 4)
    assert [row["value"] for row in found.rows][:2] == [b"15", b"14"]


def test_a_new_batch_and_a_new_now_are_seen(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=3).write()
    with dashboard([state.state]) as board:
        tag = tags(board, "/api/v1/pipelines/orders")
        assert board.ask("/api/v1/pipelines/orders", tag).status == 304
        now = present.read(state.state)
        assert now is not None
        state.tell(replace(now, rows_per_second=77.0, batches=99))
        assert board.ask("/api/v1/pipelines/orders", tag).status == 200
        assert board.get("/pipelines/orders")["batches"] == 99
        tag = tags(board, "/api/v1/pipelines/orders")
        state.begin()
        assert board.ask("/api/v1/pipelines/orders", tag).status == 200
        with state.held():
            assert board.get("/pipelines/orders")["status"] == "working"


def test_a_poll_that_finds_nothing_new_reads_no_record_of_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = KeptState(tmp_path, batches=60).write()
    read: list[int] = []
    real = Shelf.at_hand

    def counted(shelf: Shelf, number: int) -> Any:
        read.append(number)
        return real(shelf, number)

    monkeypatch.setattr(Shelf, "at_hand", counted)
    with dashboard([state.state]) as board:
        board.get("/pipelines/orders/batches")
        assert len(read) == 50
        state.begin()  # the page is asked for again, and its batches are known
        board.get("/pipelines/orders/batches")
        assert len(read) == 50
