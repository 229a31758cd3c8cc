"""The dashboard's API over states that real writers left: what it answers, and what of a damaged state."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.formats.schemas import parse_ddl
from penstock.ledger.lease import holder, lease
from penstock.ledger.ledger import Ledger
from penstock.ledger.shelf import Shelf
from penstock.observe import gaps, history
from penstock.observe import now as present
from penstock.operate import letters
from penstock.pipeline import Pipeline
from penstock.schemas.contract import Reader, Schema
from penstock.schemas.shelf import News
from penstock.schemas.shelf import Shelf as Schemas
from penstock.spec import pipeline_from_text
from penstock.testing.dashboard import Dashboard, dashboard
from penstock.testing.kept_state import KeptState

YAML = """
pipeline: orders
source: {kafka: {brokers: [localhost:9092], topics: [orders, returns]}}
decode: {json: {schema: "id BIGINT NOT NULL, amount DECIMAL(18,2)"}}
checks: [{name: positive_amount, rule: amount > 0}]
sinks: {lake: {delta: {table: ./lake/orders}}}
"""


def noon() -> float:
    """Yesterday: what was written around it is in the file of one day, whatever the time is now."""
    return time.time() // 86_400 * 86_400 - 43_200


def pipeline(folder: Path) -> Pipeline:
    return pipeline_from_text(YAML, file="orders.yaml", folder=folder)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> KeptState:
    made = KeptState(tmp_path_factory.mktemp("kept"), batches=120).write()
    made.dead_letters([b'{"id": 1}', b"\xff\x00\x01", None, b"x" * 5000, b'{"amount": "<b>"}', b"7"])
    return made


@pytest.fixture(scope="module")
def board(kept: KeptState) -> Iterator[Dashboard]:
    with dashboard([kept.state.parent], [(Path("orders.yaml"), pipeline(kept.folder))]) as made:
        yield made


def test_the_overview_has_what_ledger_and_now_say(board: Dashboard, kept: KeptState) -> None:
    [card] = board.get("/pipelines")["pipelines"]
    last, now = Ledger(kept.state, "orders", 1).last_outcome(), present.read(kept.state)
    assert last is not None
    assert now is not None
    assert now.lag is not None
    assert (card["id"], card["name"], card["status"]) == ("orders", "orders", "dead")
    assert (card["batch_id"], card["read"]) == (119, last.totals.seen)
    assert card["rejected"] == sum(last.totals.by_code().values())
    assert (card["lag_rows"], card["lag_seconds"]) == (now.lag.rows, now.lag.seconds)
    assert card["topics"] == ["orders", "returns"]
    assert "penstock run orders.yaml" in card["says"]
    assert any(card["spark"])


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


def test_a_pipeline_that_never_ran_is_shown_with_the_command_that_starts_it(tmp_path: Path) -> None:
    with dashboard([], [(Path("orders.yaml"), pipeline(tmp_path))]) as board:
        found = board.get("/pipelines/orders")
        assert (found["status"], found["flow"], found["batch_id"]) == ("new", None, None)
        assert "penstock run orders.yaml" in found["says"]
        for part in ("batches", "lag", "history", "dead-letters", "schemas", "alerts", "ledger"):
            assert board.ask(f"/api/v1/pipelines/orders/{part}").status == 200


def test_the_flow_closes_stage_by_stage(board: Dashboard) -> None:
    for flow in (board.get("/pipelines/orders")[name] for name in ("flow", "flow_last")):
        source, decode, checks = flow["stages"]
        assert source["went"] == flow["read"] == decode["came"]
        assert decode["went"] == decode["came"] - sum(decode["rejected"].values()) - sum(decode["dropped"].values())
        assert set(decode["rejected"]) == {"missing_field", "wrong_type"}
        assert set(checks["rejected"]) == {"positive_amount"}
        [sink] = flow["sinks"]
        assert sink["written"] == checks["went"]
        assert (sink["sort"], sink["target"], sink["version"]) == ("delta", "./lake/lake", 119)


def test_without_the_file_the_stages_are_one_and_the_sum_is_the_same(board: Dashboard, kept: KeptState) -> None:
    with dashboard([kept.state]) as other:
        flow, whole = (each.get("/pipelines/orders")["flow"] for each in (other, board))
        assert [stage["kind"] for stage in flow["stages"]] == ["source", "work"]
        assert flow["stages"][-1]["went"] == whole["stages"][-1]["went"]
        assert flow["rejected"] == whole["rejected"]


def test_batches_are_paged_from_the_newest_to_the_first(board: Dashboard) -> None:
    seen, before = [], None
    while True:
        page = board.get(f"/pipelines/orders/batches?limit=50{'' if before is None else f'&before={before}'}")
        seen += [batch["batch_id"] for batch in page["batches"]]
        before = page["next"]
        if before is None:
            break
    assert seen == list(range(119, -1, -1))
    assert (page["total"], page["generations"]) == (120, [1])


def test_one_batch_has_phases_ranges_and_what_each_sink_got(board: Dashboard, kept: KeptState) -> None:
    outcome = Ledger(kept.state, "orders", 1).outcome(7)
    assert outcome is not None
    batch = board.get("/pipelines/orders/batches/7")
    assert batch["phases"] == outcome.phases
    assert [(part["topic"], part["partition"], part["start"], part["end"]) for part in batch["ranges"]] == [
        (part.topic, part.partition, part.start, part.end) for part in outcome.ranges
    ]
    assert sum(part["seen"] for part in batch["ranges"]) == outcome.read == batch["read"]
    assert {sink["sink"]: (sink["rows"], sink["version"]) for sink in batch["sinks"]} == {
        name: (receipt.rows, receipt.version) for name, receipt in outcome.receipts.items()
    }
    assert batch["rejected_by"] == outcome.tally.total().by_code()
    assert (batch["stage"], batch["digest"]) == ("committed", outcome.digest)


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


def test_lag_is_every_partition_as_it_was_measured(board: Dashboard, kept: KeptState) -> None:
    now = present.read(kept.state)
    assert now is not None
    assert now.lag is not None
    table = board.get("/pipelines/orders/lag")
    assert [(part["topic"], part["partition"], part["rows"], part["position"]) for part in table["partitions"]] == [
        (part.topic, part.partition, part.rows, part.position) for part in now.lag.partitions
    ]
    assert [topic["topic"] for topic in table["topics"]] == ["orders", "returns"]


def test_the_history_has_a_value_for_every_step_and_loses_no_row(board: Dashboard, kept: KeptState) -> None:
    course = board.get("/pipelines/orders/history?span=1h")
    assert len(course["at"]) == 60
    for name in ("lag_rows", "lag_seconds", "rows_per_second", "batch_seconds", "longest_seconds", "rejected"):
        assert len(course[name]) == 60
    rows = sum(rate or 0 for rate in course["rows_per_second"]) * course["step"]
    assert rows == pytest.approx(sum(history.batches(kept.state)["rows"].to_pylist()), rel=0.05)
    peak = max(row["rows"] for row in history.lags(kept.state).to_pylist() if row["topic"] == "")
    assert max(value for value in course["lag_rows"] if value is not None) == peak
    assert course["until"] >= kept.until


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


def test_dead_letters_are_text_or_hex_and_never_too_much(board: Dashboard, kept: KeptState) -> None:
    found = board.get("/pipelines/orders/dead-letters")
    assert found["total"] == sum(found["by_code"].values()) > 0
    by_offset = {letter["offset"]: letter["value"] for letter in found["samples"]}
    assert by_offset[1000] == {"form": "text", "text": '{"id": 1}', "bytes": 9, "cut": False}
    assert by_offset[1001] == {"form": "hex", "text": "ff 00 01", "bytes": 3, "cut": False}
    assert by_offset[1002]["form"] == "none"
    assert (by_offset[1003]["bytes"], by_offset[1003]["cut"], len(by_offset[1003]["text"])) == (5000, True, 2000)
    one = board.get("/pipelines/orders/dead-letters?code=wrong_type")
    assert {letter["code"] for letter in one["samples"]} == {"wrong_type"}


def test_only_the_newest_files_of_a_large_dead_letter_table_are_opened(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=1).write()
    for number in range(letters.MOST_FILES + 4):
        state.dead_letters([f"{number}".encode()])
    found = letters.sample(str(state.state / "dead_letters"), 100)
    assert (found.looked, found.files) == (letters.MOST_FILES, letters.MOST_FILES + 4)
    assert [row["value"] for row in found.rows][:2] == [b"15", b"14"]


def test_a_dead_letter_table_that_cannot_be_read_is_told_and_the_counts_stay(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=2).write()
    table = state.dead_letters([b"x"])
    [log] = (table / "_delta_log").glob("*.json")
    log.write_text("{ this is no log")
    with dashboard([state.state]) as board:
        found = board.get("/pipelines/orders/dead-letters")
        assert "cannot be read" in found["trouble"]
        assert found["total"] > 0
        assert found["samples"] == []


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


def test_a_damaged_file_of_gaps_is_told_and_the_other_ranges_and_alerts_are_shown(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=2).write()
    for number in (3, 4):
        gaps.keep(state.state, [gaps.Gap(1000.0 + number, "orders", 1, number, "t", 0, 5, 9)])
    broken = max(gaps.folder_of(state.state).glob("*.parquet"))
    broken.write_bytes(broken.read_bytes()[:100])
    with dashboard([state.state]) as board:
        found = board.get("/pipelines/orders/alerts")
    assert [each["batch_id"] for each in found["lost"]] == [3]
    assert f"gaps/{broken.name} cannot be read" in found["lost_trouble"]
    assert found["happened"]


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


# what is damaged
def test_a_cut_line_of_the_history_costs_that_line_and_is_told(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=20, until=noon()).write()
    [day] = (state.state / "progress").glob("*.jsonl")
    lines = day.read_bytes().splitlines(keepends=True)
    kind = next(place for place, line in enumerate(lines) if b'"kind":"batches"' in line)
    day.write_bytes(b"".join([*lines[:kind], lines[kind][:40] + b"\n", *lines[kind + 1 :]]))
    with dashboard([state.state]) as board:
        course = board.get("/pipelines/orders/history")
        assert course["damaged"] == 1
        assert any(course["rows_per_second"])
        [note] = board.get("/pipelines/orders")["notes"]
        assert note.startswith("1 line of the history could not be read")


def test_a_damaged_file_of_a_day_that_is_over_is_told_and_the_rest_is_drawn(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=20, until=noon()).write()
    [day] = (state.state / "progress").glob("*.jsonl")
    history.fold(day.parent, day.name[:10])
    (day.parent / f"{day.name[:10]}.lags.parquet").write_bytes(b"PAR1 and no more")
    with dashboard([state.state]) as board:
        course = board.get("/pipelines/orders/history?span=7d")
        assert course["damaged"] == 1
        assert any(course["rows_per_second"])
        assert not any(course["lag_rows"])


def test_what_was_read_stays_when_a_day_is_folded_under_the_reader(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=20, until=noon()).write()
    [day] = (state.state / "progress").glob("*.jsonl")
    with dashboard([state.state]) as board:
        before = board.get("/pipelines/orders/history?span=7d")
        history.fold(day.parent, day.name[:10])
        assert board.get("/pipelines/orders/history?span=7d") == before


def test_a_damaged_outcome_is_told_and_the_others_are_shown(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=5).write()
    (state.state / "ledger" / "g1" / "outcomes" / "4.json").write_bytes(b'{"batch_id": 4, ')
    with dashboard([state.state]) as board:
        card = board.get("/pipelines/orders")
        assert card["batch_id"] is None
        assert "4.json is damaged" in card["notes"][0]
        rows = board.get("/pipelines/orders/batches")["batches"]
        assert [(row["batch_id"], bool(row["trouble"])) for row in rows] == [
            (4, True), (3, False), (2, False), (1, False), (0, False)
        ]  # fmt: skip
        assert "damaged" in board.get("/pipelines/orders/batches/4")["trouble"]
        assert board.get("/pipelines/orders/ledger")["entries"][0]["trouble"]


def test_a_now_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    state = KeptState(tmp_path, batches=2).write()
    present.path_of(state.state).write_bytes(b"{")
    with dashboard([state.state]) as board:
        found = board.get("/pipelines/orders")
        assert (found["status"], found["lag_rows"]) == ("dead", None)
        assert "now.json cannot be read" in found["notes"][0]


# what is not asked twice
def tags(board: Dashboard, path: str) -> Any:
    reply = board.ask(path)
    assert reply.status == 200
    return {"If-None-Match": reply.headers["etag"]}


PATHS = ["", "/orders", *(f"/orders/{part}" for part in ("batches", "batches/3", "lag", "history", "alerts", "ledger"))]


@pytest.mark.parametrize("path", PATHS)
def test_what_has_not_changed_is_not_answered_again(board: Dashboard, path: str) -> None:
    tag = tags(board, f"/api/v1/pipelines{path}")
    again = board.ask(f"/api/v1/pipelines{path}", tag)
    assert (again.status, again.body) == (304, b"")


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


# which pipelines
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


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nobody", 404), ("/..%2f..%2fetc", 404), ("/%2e%2e", 422), ("/ORDERS", 422), ("/orders/batches/99999", 404),
        ("/orders/batches/-1", 422), ("/orders/batches/x", 422), ("/orders/batches?limit=201", 422),
        ("/orders/batches?generation=9", 404), ("/orders/history?span=1y", 422), ("/orders/dead-letters?limit=0", 422),
        ("/orders/nothing", 404),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_for_is_a_problem_in_words(board: Dashboard, path: str, status: int) -> None:
    reply = board.ask(f"/api/v1/pipelines{path}")
    assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")
    assert reply.json()["status"] == status
    assert reply.json()["detail"]


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
