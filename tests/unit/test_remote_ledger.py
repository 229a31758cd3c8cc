"""A ledger elsewhere than on this machine: what was frozen outlives the machine, and the lease knows who lives.

The other file system is the local disk behind the same door (`LocalFiles`); a real HDFS is in tests/broker.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from penstock import files
from penstock.errors import StateHeld
from penstock.files import LocalFiles, Remote
from penstock.ledger import pulse
from penstock.ledger.lease import holder, lease
from penstock.ledger.ledger import Ledger, generations
from penstock.ledger.records import Intent, Manifest
from penstock.ranges import Range
from penstock.sinks.contract import Frozen, FrozenFile
from penstock.tally import Tally

RANGES = (Range("orders", 0, 5, 10),)


@pytest.fixture
def state(tmp_path: Path) -> Remote:
    return Remote(str(tmp_path / "elsewhere"), LocalFiles(), tmp_path / "machine-1")


def _frozen(ledger: Ledger, body: bytes = b"rows", name: str = "feed-1.parquet") -> tuple[Intent, Manifest]:
    """A batch whose rows for a topic lie in the stage, and those for a table in the table."""
    intent = ledger.intend(0, RANGES, "code")
    stage = ledger.stage_of(0)
    stage.mkdir(parents=True)
    (stage / name).write_bytes(body)
    (stage / "orphan.parquet").write_bytes(b"of a task that failed")
    sinks = {
        "feed": Frozen({"stage": str(stage), "topic": "t"}, (FrozenFile(name, len(body), 1),)),
        "lake": Frozen({"table": "/lake"}, (FrozenFile("part-1.parquet", 9, 1),)),
    }
    return intent, ledger.freeze(intent, Manifest(intent.digest, 1.0, 1, Tally({}), sinks), 0)


def test_what_was_frozen_is_there_before_the_manifest_and_comes_back_on_another_machine(state: Remote) -> None:
    intent, frozen = _frozen(Ledger(state, "orders", 1))
    assert frozen.sinks["feed"].target["stage"] == str(state.here / "stage" / "g1" / "0")
    shutil.rmtree(state.here)
    other = replace(state, here=state.here.with_name("machine-2"))
    found = Ledger(other, "orders", 1).manifest(intent)
    assert found is not None
    stage = Path(found.sinks["feed"].target["stage"])
    assert stage == other.here / "stage" / "g1" / "0"
    assert (stage / "feed-1.parquet").read_bytes() == b"rows"
    assert [path.name for path in stage.iterdir()] == ["feed-1.parquet"], "orphans and tables stay where they are"
    assert found.sinks["lake"] == frozen.sinks["lake"]


def test_a_file_that_was_cut_on_this_machine_is_fetched_again(state: Remote) -> None:
    ledger = Ledger(state, "orders", 1)
    intent, _ = _frozen(ledger)
    (ledger.stage_of(0) / "feed-1.parquet").write_bytes(b"ro")
    ledger.manifest(intent)
    assert (ledger.stage_of(0) / "feed-1.parquet").read_bytes() == b"rows"


def test_a_frozen_file_that_is_gone_everywhere_is_not_made_up(state: Remote) -> None:
    ledger = Ledger(state, "orders", 1)
    intent, _ = _frozen(ledger)
    shutil.rmtree(state.here)
    (Path(state.uri) / "stage" / "g1" / "0" / "feed-1.parquet").unlink()
    assert ledger.manifest(intent) is not None
    assert not (ledger.stage_of(0) / "feed-1.parquet").exists()


def test_of_two_machines_that_freeze_at_once_both_have_the_rows_of_the_first(state: Remote) -> None:
    other = replace(state, here=state.here.with_name("machine-2"))
    _frozen(Ledger(state, "orders", 1), b"first")
    _, stands = _frozen(Ledger(other, "orders", 1), b"second", "feed-2.parquet")
    assert Path(stands.sinks["feed"].target["stage"], "feed-1.parquet").read_bytes() == b"first"


def test_generations_are_found_and_a_checkpoint_is_set_aside(state: Remote) -> None:
    assert generations(state) == []
    for generation in (1, 2, 10):
        Ledger(state, "orders", generation).open()
    (Path(state.uri) / "ledger" / "g11").mkdir()
    assert generations(state) == [1, 2, 10]
    files.create_once(state / "spark" / "metadata", b"{}")
    files.move(state / "spark", state / "spark.g1")
    assert (state / "spark.g1" / "metadata").exists()
    assert not (state / "spark").exists()


def test_a_second_process_of_the_machine_is_told_at_once_who_holds_the_lease(state: Remote) -> None:
    place = state / "lease"
    assert holder(place) is None
    with lease(place, "orders", "run-1"):
        who = holder(place)
        assert who is not None
        assert who["pid"] == os.getpid()
        with (
            pytest.raises(StateHeld, match=rf"running already: process {os.getpid()}"),
            lease(place, "orders", "run-2"),
        ):
            pytest.fail("two holders")
    assert holder(place) is None
    assert files.listed(place) == []


def test_the_lease_of_a_process_that_ended_is_taken_over(state: Remote) -> None:
    _left_behind(state / "lease", {"machine": pulse.machine(), "birth": "1"})
    with lease(state / "lease", "orders", "run-2"):
        who = holder(state / "lease")
        assert who is not None
        assert who["run"] == "run-2"


def test_a_holder_elsewhere_is_dead_when_its_pulse_stands_still(state: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "DEAD_SECONDS", 1.0)
    _left_behind(state / "lease", {"machine": "another one"})
    with lease(state / "lease", "orders", "run-2"):
        who = holder(state / "lease")
        assert who is not None
        assert who["run"] == "run-2"


def test_a_holder_elsewhere_lives_while_its_pulse_moves(state: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "DEAD_SECONDS", 30.0)
    _left_behind(state / "lease", {"machine": "another one"})
    stop = threading.Event()

    def beat() -> None:
        count = 0
        while not stop.wait(0.2):
            count += 1
            files.replace(state / "lease" / "4.pulse", b"beat %d" % count)

    beating = threading.Thread(target=beat)
    beating.start()
    try:
        with pytest.raises(StateHeld, match="process 7 of somebody"), lease(state / "lease", "orders", "run-2"):
            pytest.fail("two holders")
    finally:
        stop.set()
        beating.join()


def _left_behind(place: Remote, about: dict[str, str]) -> None:
    who = {"run": "run-1", "pid": 7, "user": "somebody", "host": "there", "since": "then", **about}
    files.create_once(place / "4.json", json.dumps(who).encode())
    files.replace(place / "4.pulse", b"once")
