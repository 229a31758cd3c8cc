"""The dashboard's API over one whole state that real writers left: it answers what ledger, lag and history say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.dashboard_kit import pipeline, tags

from penstock.ledger.ledger import Ledger
from penstock.observe import history
from penstock.observe import now as present
from penstock.testing.dashboard import Dashboard, dashboard
from penstock.testing.kept_state import KeptState


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


PATHS = ["", "/orders", *(f"/orders/{part}" for part in ("batches", "batches/3", "lag", "history", "alerts", "ledger"))]


@pytest.mark.parametrize("path", PATHS)
def test_what_has_not_changed_is_not_answered_again(board: Dashboard, path: str) -> None:
    tag = tags(board, f"/api/v1/pipelines{path}")
    again = board.ask(f"/api/v1/pipelines{path}", tag)
    assert (again.status, again.body) == (304, b"")


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
