"""A damaged file of a state costs what it held: the API says so, and shows the rest."""

from __future__ import annotations

from pathlib import Path

from tests.unit.dashboard_kit import noon

from penstock.observe import gaps, history
from penstock.observe import now as present
from penstock.testing.dashboard import dashboard
from penstock.testing.kept_state import KeptState


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
