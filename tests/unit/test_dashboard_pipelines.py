"""Which pipelines the dashboard shows, in which status, with which alerts and changes of schemas."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.dashboard_kit import pipeline

from penstock.formats.schemas import parse_ddl
from penstock.ledger.lease import holder, lease
from penstock.observe import now as present
from penstock.schemas.contract import Reader, Schema
from penstock.schemas.shelf import News
from penstock.schemas.shelf import Shelf as Schemas
from penstock.testing.dashboard import dashboard
from penstock.testing.kept_state import KeptState


def test_a_folder_of_states_is_looked_at_again_and_ids_are_made_here(tmp_path: Path) -> None:
    KeptState(tmp_path, batches=1).write()
    with dashboard([tmp_path / "state"]) as board:
        assert [card["id"] for card in board.get("/pipelines")["pipelines"]] == ["orders"]
        KeptState(tmp_path, name="Orders <b>", batches=1).write()
        assert sorted(card["id"] for card in board.get("/pipelines")["pipelines"]) == ["orders", "orders-b"]
        KeptState(tmp_path / "other", name="orders", batches=1).write()
    with dashboard([tmp_path / "state" / "orders", tmp_path / "other" / "state" / "orders"]) as board:
        assert [card["id"] for card in board.get("/pipelines")["pipelines"]] == ["orders", "orders-2"]


def test_a_state_that_is_reached_by_two_paths_is_one_pipeline(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=1).write().state
    (tmp_path / "link").symlink_to(state)
    with dashboard([tmp_path / "link", state], [(Path("orders.yaml"), pipeline(tmp_path))]) as board:
        [card] = board.get("/pipelines")["pipelines"]
        assert card["id"] == "orders"


def test_a_pipeline_that_never_ran_is_shown_with_the_command_that_starts_it(tmp_path: Path) -> None:
    with dashboard([], [(Path("orders.yaml"), pipeline(tmp_path))]) as board:
        found = board.get("/pipelines/orders")
        assert (found["status"], found["flow"], found["batch_id"]) == ("new", None, None)
        assert "penstock run orders.yaml" in found["says"]
        for part in ("batches", "lag", "history", "dead-letters", "schemas", "alerts", "ledger"):
            assert board.ask(f"/api/v1/pipelines/orders/{part}").status == 200


@pytest.mark.parametrize(
    ("ended", "holds", "status"),
    [("", True, "working"), ("failed", False, "failed"), ("stopped", False, "stopped"), ("", False, "dead")],
)
def test_the_status_is_told_by_the_lease_and_by_how_it_ended(
    tmp_path: Path, ended: str, holds: bool, status: str
) -> None:
    state = KeptState(tmp_path, batches=2, ended=ended, error="the disk is full" if ended == "failed" else "").write()
    with dashboard([state.state]) as board:
        if holds:
            with state.held():
                card = board.get("/pipelines/orders")
                assert card["holder"]["pid"]
        else:
            card = board.get("/pipelines/orders")
            assert card["holder"] is None
        assert card["status"] == status
        assert card["error"] == ("the disk is full" if status == "failed" else "")


def test_a_pipeline_that_has_nothing_to_read_is_idle_and_one_that_waits_says_for_what(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=2, behind=0).write()
    now = present.read(state.state)
    assert now is not None
    with dashboard([state.state]) as board, state.held():
        state.tell(replace(now, in_hand=None, rows_per_second=0.0))
        assert board.get("/pipelines/orders")["status"] == "idle"
        state.tell(replace(now, waiting="no broker answers", waiting_since=now.at))
        found = board.get("/pipelines/orders")
        assert (found["status"], found["waiting"]) == ("waiting", "no broker answers")


def test_who_looks_whether_it_runs_never_keeps_a_run_from_starting(tmp_path: Path) -> None:
    import threading

    path, over = tmp_path / "lease", threading.Event()

    def look() -> None:
        while not over.is_set():
            holder(path)

    lookers = [threading.Thread(target=look) for _ in range(3)]
    for each in lookers:
        each.start()
    try:
        for _ in range(50):
            with lease(path, "p", "r"):
                assert holder(path)
    finally:
        over.set()
        for each in lookers:
            each.join()


def test_alerts_stand_with_cause_and_next_step(tmp_path: Path) -> None:
    raised = {
        "alert": "lag_growing",
        "text": "more comes",
        "since": 1.0,
        "cause": "slow",
        "next_step": "see  penstock lag",
    }
    state = KeptState(tmp_path, batches=2, alerts=(raised,), ended="").write()
    with dashboard([state.state]) as board, state.held():
        found = board.get("/pipelines/orders/alerts")
        assert found["standing"] == [raised]
        assert [each["event"] for each in found["happened"]] == ["started"]
        assert board.get("/pipelines")["pipelines"][0]["alerts"] == ["lag_growing"]


def test_schema_changes_are_listed_the_newest_first_with_what_became_of_them(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=2).write()
    kept_schemas(state.state)
    with dashboard([state.state]) as board:
        found = board.get("/pipelines/orders/schemas")
        assert (found["kept"], found["revision"], found["registry"]) == (True, 3, "http://registry:8081")
        assert found["subjects"] == {"orders-value": 8}
        assert found["columns"] == "`id` BIGINT NOT NULL, `coupon` STRING"
        assert [(news["after"], news["action"], news["batch_id"]) for news in found["news"]] == [
            (9, "park", 41), (8, "read", 40)
        ]  # fmt: skip
        assert found["news"][1]["changes"] == [{"kind": "added", "path": "/coupon", "before": "", "after": "STRING"}]


def kept_schemas(state: Path) -> None:
    """Three revisions: the first, one that was read, one that was parked."""
    columns = ["id BIGINT NOT NULL", "id BIGINT NOT NULL, coupon STRING", "id BIGINT NOT NULL, coupon STRING"]
    added = {"kind": "added", "path": "/coupon", "before": "", "after": "STRING"}
    news = [
        [],
        [News("orders", "orders-value", 7, 8, "read", (added,), 40)],
        [News("orders", "orders-value", 8, 9, "park", (), 41)],
    ]
    for place, text in enumerate(columns):
        readers = {"orders-value": Schema((7, 8, 8)[place], "avro", "{}")}
        Schemas(state).keep(Reader(parse_ddl(text), readers, {}, place + 1), "http://registry:8081", {}, news[place])
