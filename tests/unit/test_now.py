"""now.json: how a pipeline is at this moment, for other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.observe import now as present
from penstock.observe.diary import Diary
from penstock.observe.events import BatchCommitted, BatchStarted, Event, PhaseStarted, Recovered, RunStarted, Waiting
from penstock.observe.history import History
from penstock.observe.now import Board, Now, Shown
from penstock.observe.tracker import Measure, Tracker


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(Board(tmp_path, Now("p", run="r"), least_seconds=0.0), History(tmp_path, 86_400.0))


def left_by(diary: Diary, *happened: Event) -> Now:
    for event in happened:
        diary.take(event)
    diary.board.write(force=True)
    found = present.read(diary.board.state)
    assert found is not None
    return found


STARTED = RunStarted(pipeline="p", generation=3, brokers="b", state="s", resumes_at=None)
COMMITTED = BatchCommitted(
    pipeline="p",
    batch_id=4,
    read=10,
    written=9,
    rejected={"late": 1},
    dropped={},
    seconds=2.5,
    phases={"pass": 2.0},
    sinks={"lake": {"version": 1, "rows": 9}},
    replayed=False,
)


def test_it_is_read_as_it_was_written(diary: Diary) -> None:
    lag = Tracker().see(Measure(at=5.0, positions={("t", 0): 0}, ends={("t", 0): 7}))
    diary.board.update(lag=lag, shown=Shown("p", 1.0, 4, in_transaction=True))
    found = left_by(diary, STARTED, COMMITTED)
    assert found == diary.board.now
    assert found.lag == lag
    assert found.to_json()["lag_rows"] == 7


def test_the_batch_in_hand_is_told_with_its_phase_and_is_gone_when_it_is_committed(diary: Diary) -> None:
    found = left_by(
        diary,
        STARTED,
        PhaseStarted(pipeline="p", batch_id=4, phase="intent"),
        BatchStarted(pipeline="p", batch_id=4, offsets=12),
        PhaseStarted(pipeline="p", batch_id=4, phase="pass"),
    )
    assert found.in_hand is not None
    assert (found.in_hand.batch_id, found.in_hand.phase, found.in_hand.offsets) == (4, "pass", 12)
    assert found.in_hand.since <= found.in_hand.phase_since
    found = left_by(diary, COMMITTED)
    assert found.in_hand is None
    assert found.last_batch is not None
    assert (found.last_batch.batch_id, found.last_batch.rows, found.batches) == (4, 10, 1)


def test_what_is_waited_for_is_told_until_it_is_back(diary: Diary) -> None:
    found = left_by(diary, Waiting(pipeline="p", cause="no broker", pause_seconds=1.0, attempt=1))
    assert (found.waiting, found.waiting_since is not None) == ("no broker", True)
    assert left_by(diary, Recovered(pipeline="p", after_seconds=3.0)).waiting == ""


def test_how_it_ended_stays(diary: Diary) -> None:
    diary.ended("failed", "the disk is full")
    found = left_by(diary)
    assert (found.ended, found.error) == ("failed", "the disk is full")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[1]", b'{"v": 99}', b'{"v": 1}', b'{"v": 1, "pipeline": "p", "lag": {}}']
)
def test_what_another_version_or_a_bad_disk_left_is_nothing(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "progress").mkdir()
    present.path_of(tmp_path).write_bytes(body)
    found = present.read(tmp_path)
    assert found is None or found.lag is None
