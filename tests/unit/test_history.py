"""The history of a pipeline: rows of batches, lags and runs; bounded, and readable after any crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.history_kit import batch

from penstock.observe import history
from penstock.observe.history import DAY_SECONDS, History
from penstock.observe.lag import Lag
from penstock.observe.tracker import Measure, Tracker

START = 1_800_000_000.0


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def lag(at: float) -> Lag:
    return Tracker().see(Measure(at=at, positions={("t", 0): 5}, ends={("t", 0): 12, ("u", 0): 3}))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def writer(folder: Path, clock: Clock, days: float = 30) -> History:
    return History(folder, days * DAY_SECONDS, clock)


def test_a_batch_is_a_row_with_its_phases_rejects_files_and_bytes(tmp_path: Path, clock: Clock) -> None:
    kept = writer(tmp_path, clock)
    kept.batch(batch(7, seconds=12.0), 1, 5000)
    [row] = history.batches(tmp_path).to_pylist()
    assert row["at"].timestamp() == START
    assert (row["first_batch"], row["last_batch"], row["batches"], row["generation"]) == (7, 7, 1, 1)
    assert (row["rows"], row["written"], row["files"], row["bytes"], row["read_limit"]) == (100, 98, 4, 4000, 5000)
    assert dict(row["rejected"]) == {"invalid_json": 2}
    assert dict(row["phases"]) == {"pass": 6.0, "tables": 3.0}
    assert dict(row["sinks"]) == {"lake": 98}


def test_short_batches_share_a_row_and_nothing_is_lost(tmp_path: Path, clock: Clock) -> None:
    kept = writer(tmp_path, clock)
    for number in range(1000):
        clock.now += 0.2
        kept.batch(batch(number, seconds=0.2), 1, None)
    kept.tick(force=True)
    table = history.batches(tmp_path)
    assert table.num_rows <= 21
    assert sum(table["rows"].to_pylist()) == 100_000
    assert sum(table["batches"].to_pylist()) == 1000
    assert sum(dict(codes)["invalid_json"] for codes in table["rejected"].to_pylist()) == 2000
    assert max(table["longest_seconds"].to_pylist()) == 0.2


def test_the_lag_is_kept_once_a_minute_by_topic_and_of_all(tmp_path: Path, clock: Clock) -> None:
    kept = writer(tmp_path, clock)
    for poll in range(13):
        kept.lag(lag(START + 10 * poll))
    table = history.lags(tmp_path)
    assert table.filter([topic == "" for topic in table["topic"].to_pylist()])["rows"].to_pylist() == [10, 10, 10]
    assert sorted(set(table["topic"].to_pylist())) == ["", "t", "u"]


def test_a_line_that_a_crash_cut_off_costs_that_line_only(tmp_path: Path, clock: Clock) -> None:
    writer(tmp_path, clock).run("started", "one", 1)
    [path] = (tmp_path / "progress").glob("*.jsonl")
    path.write_bytes(path.read_bytes() + b'{"kind": "runs", "at": 18000')
    writer(tmp_path, clock).run("started", "two", 1)
    assert history.runs(tmp_path)["run"].to_pylist() == ["one", "two"]


def test_days_that_are_over_become_parquet_and_old_ones_go(tmp_path: Path, clock: Clock) -> None:
    kept = writer(tmp_path, clock, days=7)
    for day in range(20):
        clock.now = START + day * DAY_SECONDS
        kept.run("started", str(day), 1)
        kept.batch(batch(day, seconds=20.0), 1, None)
    names = sorted(path.name for path in (tmp_path / "progress").iterdir())
    assert len([name for name in names if name.endswith(".jsonl")]) == 1
    assert len(names) == 1 + 7 * 3
    assert history.runs(tmp_path)["run"].to_pylist() == [str(day) for day in range(12, 20)]
    assert history.batches(tmp_path)["last_batch"].to_pylist() == list(range(12, 20))
    since = START + 15 * DAY_SECONDS
    assert history.runs(tmp_path, since=since)["run"].to_pylist() == ["15", "16", "17", "18", "19"]
    assert history.runs(tmp_path, since=since, until=since + 1)["run"].to_pylist() == ["15"]


def test_a_crash_while_a_day_is_folded_loses_and_doubles_nothing(tmp_path: Path, clock: Clock) -> None:
    kept = writer(tmp_path, clock)
    kept.run("started", "one", 1)
    [lines] = (tmp_path / "progress").glob("*.jsonl")
    body = lines.read_bytes()
    history.fold(lines.parent, lines.name[:10])
    lines.write_bytes(body)  # as if it had been killed before the lines were removed
    (lines.parent / f"{lines.name[:10]}.lags.parquet").unlink()
    assert history.runs(tmp_path)["run"].to_pylist() == ["one"]
    clock.now += DAY_SECONDS
    writer(tmp_path, clock).run("started", "two", 1)
    assert history.runs(tmp_path)["run"].to_pylist() == ["one", "two"]


def test_a_clock_that_is_set_back_over_midnight_loses_nothing_of_the_day_before(tmp_path: Path, clock: Clock) -> None:
    kept = writer(tmp_path, clock)
    kept.run("started", "one", 1)
    kept.batch(batch(7, seconds=20.0), 1, None)
    kept.lag(lag(clock.now))
    before = {kind: history.read(tmp_path, kind).to_pylist() for kind in history.KINDS}
    for days, run in ((1, "two"), (-1, "three"), (1, "four")):
        clock.now += days * DAY_SECONDS
        kept.run("started", run, 1)
    assert history.runs(tmp_path)["run"].to_pylist() == ["one", "three", "two", "four"]
    for kind in ("batches", "lags"):
        assert history.read(tmp_path, kind).to_pylist() == before[kind]


def test_no_history_is_an_empty_table_with_its_columns(tmp_path: Path) -> None:
    for kind in history.KINDS:
        assert history.read(tmp_path, kind).schema == history.schema(kind)
        assert history.read(tmp_path, kind).num_rows == 0
