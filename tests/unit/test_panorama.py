"""Many pipelines at a glance: what their states say, alive and dead, without a broker."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.unit.panorama_kit import Told

from penstock.ledger.lease import lease
from penstock.observe import now as present
from penstock.observe.events import PhaseStarted, Waiting
from penstock.observe.history import unfold
from penstock.observe.recent import Recent
from penstock.observe.status import status
from penstock.operate.panorama import Panorama, Watch, named, states_in
from penstock.operate.stamps import Kept
from penstock.operate.standings import Standing, Subject
from penstock.testing.past import Past


def looked(state: Path, at: float | None = None) -> Standing:
    return Watch(Subject("p", state)).look(at)


def test_a_folder_without_a_run_is_a_new_pipeline(tmp_path: Path) -> None:
    found = looked(tmp_path / "nothing")
    assert (found.state, found.why, found.running, found.lag_rows) == ("new", "it has never run", False, None)
    assert found.rates(3) == [0.0, 0.0, 0.0]
    assert found.freshness_seconds is None


def test_a_pipeline_that_holds_its_lease_works_or_is_idle_and_one_that_does_not_is_dead(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.diary.take(PhaseStarted(pipeline="p", batch_id=1, phase="pass"))
    told.leave()
    with lease(tmp_path / "lease", "p", "r"):
        assert looked(tmp_path).state == "working"
        told.batch(1)
        told.leave()
        assert looked(tmp_path).state == "idle"
    found = looked(tmp_path)
    assert found.state == "dead"
    assert "ended without a word" in found.why
    assert found.rows_per_second == 0.0


def test_what_is_waited_for_and_what_ended_a_run_is_said(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.diary.take(Waiting(pipeline="p", cause="no broker answers.", pause_seconds=1.0, attempt=1))
    told.leave()
    with lease(tmp_path / "lease", "p", "r"):
        found = looked(tmp_path)
        assert (found.state, found.why) == ("waiting", "no broker answers.")
    told.diary.ended("failed", "the disk is full")
    told.leave()
    found = looked(tmp_path)
    assert (found.state, found.why) == ("failed", "the disk is full")


def test_a_run_that_has_just_taken_the_lease_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.diary.ended("failed", "the disk is full")
    told.leave()
    with lease(tmp_path / "lease", "p", "another run"):
        assert (looked(tmp_path).state, looked(tmp_path).why) == ("starting", "")


def test_freshness_grows_while_nobody_looks_because_nobody_knows_what_came(tmp_path: Path) -> None:
    told = Told(tmp_path, at=1000.0)
    told.lag(end=5)
    told.leave()
    assert looked(tmp_path, at=1007.0).freshness_seconds == 7.0
    assert looked(tmp_path, at=2000.0).freshness_seconds == 1000.0
    assert looked(tmp_path).lag_rows == 0


def test_rates_come_from_the_history_and_the_batch_that_is_not_there_yet(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.at -= 60
    told.diary.board.update(started_at=told.at)
    told.batch(1, read=600)
    told.diary.history.tick(force=True)
    told.at += 60
    told.batch(2, read=300)
    told.diary.board.write(force=True)
    with lease(tmp_path / "lease", "p", "r"):
        found = looked(tmp_path, told.at)
    assert found.rows_per_second == pytest.approx(15.0)
    assert found.rejects_per_second == pytest.approx(4 / 60)
    assert found.rates(7)[-1] == pytest.approx(30.0)
    assert found.rates(7)[0] == pytest.approx(60.0)


def test_the_alerts_of_a_dead_run_are_over_but_for_its_failure(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.diary.board.update(alerts=({"alert": "lag_growing"}, {"alert": "run_failed"}))
    told.leave()
    assert [alert["alert"] for alert in looked(tmp_path).alerts] == ["run_failed"]
    with lease(tmp_path / "lease", "p", "r"):
        assert len(looked(tmp_path).alerts) == 2


def test_it_says_the_same_as_status(tmp_path: Path) -> None:
    past = Past(tmp_path).run(3)
    Told(past.state).leave()
    found = looked(past.state)
    assert found.status() == status("p", past.state)
    assert (found.last.batch_id if found.last else None) == 2
    past.run(1)
    assert found.status() != status("p", past.state)


def test_a_new_batch_is_seen_and_a_damaged_ledger_is_said(tmp_path: Path) -> None:
    past = Past(tmp_path).run(1)
    watch = Watch(Subject("p", past.state))
    assert watch.look().status()["batch_id"] == 0
    past.run(1)
    assert watch.look().status()["batch_id"] == 1
    past.run(1)
    path = past.state / "ledger" / "g1" / "outcomes" / "2.json"
    path.chmod(0o600)
    path.write_text("{half")
    found = watch.look()
    assert "is damaged" in found.why
    assert found.last is None


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    path, reads = tmp_path / "file", []

    def read() -> str:
        reads.append(1)
        return path.read_text()

    kept = Kept()

    def get() -> str:
        return kept.of("file", (path,), read)

    path.write_text("one")
    os.utime(path, (1000, 1000))
    assert (get(), get(), len(reads)) == ("one", "one", 1)
    path.write_text("two")
    assert (get(), len(reads)) == ("two", 2)


def test_the_history_is_read_as_it_grows_and_half_a_line_waits(tmp_path: Path) -> None:
    told = Told(tmp_path)
    recent = Recent(tmp_path)
    told.batch(1)
    told.diary.history.tick(force=True)
    assert [row["last_batch"] for row in recent.rows("batches")] == [1]
    [path] = (tmp_path / "progress").glob("*.jsonl")
    with path.open("a") as file:
        file.write('{"kind": "batches", "at": 5.0, "last_')
    assert len(recent.rows("batches")) == 1
    with path.open("a") as file:
        file.write('batch": 2}\n')
    assert [row["last_batch"] for row in recent.rows("batches")] == [1, 2]
    assert [row["event"] for row in recent.rows("runs")] == ["started"]


@pytest.mark.parametrize("folded", [True, False])
def test_who_begins_to_look_after_midnight_sees_the_evening_too(tmp_path: Path, folded: bool) -> None:
    midnight = 1_800_057_600.0
    told = Told(tmp_path, at=midnight - 100)
    for number in range(12):
        told.at = midnight - 95 + 10 * number
        told.batch(number, seconds=10.0)
    days = sorted(path.name for path in (tmp_path / "progress").glob("????-??-??.*"))
    assert [day for day in days if day.endswith("jsonl")] == ["2027-01-16.jsonl"], days
    if not folded:
        unfold(tmp_path / "progress", "2027-01-15")
    rows = Recent(tmp_path).rows("batches")
    assert [row["last_batch"] for row in rows] == list(range(12))
    assert rows[0]["phases"] == {"pass": 5.0, "tables": 2.5}


def test_only_the_end_of_a_long_day_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "progress"
    folder.mkdir()
    line = '{{"kind": "batches", "at": {0}.0, "filling": "' + "x" * 200 + '"}}\n'
    (folder / "2026-01-01.jsonl").write_text("".join(line.format(number) for number in range(10_000)))
    rows = Recent(tmp_path).rows("batches")
    assert 100 < len(rows) < 10_000
    assert rows[-1]["at"] == 9999.0
    assert not Recent(tmp_path).rows("batches", since=20_000.0)


def test_states_are_found_in_a_folder_and_know_their_names(tmp_path: Path) -> None:
    Past(tmp_path, state_name="one").run(1)
    Told(tmp_path / "two", name="second").leave()
    (tmp_path / "neither").mkdir()
    found = states_in(tmp_path)
    assert [path.name for path in found] == ["one", "two"]
    assert [named(path).name for path in found] == ["p", "second"]
    assert states_in(tmp_path / "one") == [tmp_path / "one"]
    assert [each.name for each in Panorama(map(named, found)).look()] == ["p", "second"]


def test_a_state_elsewhere_is_running_while_its_process_lives_and_tells(tmp_path: Path) -> None:
    told = Told(tmp_path)
    told.leave()
    watch = Watch(Subject("p", tmp_path, elsewhere=True))
    assert watch.look().running
    assert not watch.look(time.time() + 600).running
    told.diary.ended("stopped")
    told.leave()
    assert watch.look().state == "stopped"
    assert present.read(tmp_path) is not None
