"""How a patient comes in, who is healthy, and what no look may do: fail over a damaged file, or write."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock import Delta, Sink
from penstock.errors import Refused
from penstock.observe.now import InHand
from penstock.observe.tracker import Measure, Tracker
from penstock.operate.doctor import DIAGNOSES, diagnose
from penstock.operate.doctor.admission import of_checkpoint, of_state
from penstock.testing.ward import Ward
from penstock.unread import Probe


def test_a_healthy_pipeline_yields_nothing_dead_or_alive(ward: Ward) -> None:
    assert ward.codes() == []
    ward.ran(60, every=10.0)
    ward.tells(ended="stopped")
    assert ward.codes() == []
    with ward.held():
        ward.tells()
        assert ward.codes() == []
    found = ward.report()
    assert {"now.json", "history", "ledger", "checkpoint", "table lake", "disks"} <= set(found.seen)
    assert list(found.unseen) == ["brokers"]


def test_an_hour_of_healthy_noise_yields_nothing(ward: Ward) -> None:
    """Lag rises and falls with every batch, batches differ, some records are bad, bursts fit into the next batch."""
    random, tracker, part = Random(7), Tracker(), ("t", 0)
    ends = position = 0
    began = time.time() - 3600
    ward.ran(360, every=10.0, ends=0.0, seconds=4.0, rejected={"invalid_json": 40})
    with ward.held():
        for poll in range(360):
            ends += random.randint(2000, 9000) + (30_000 if poll % 90 == 50 else 0)
            if poll % 3 == 2:
                position = ends - random.randint(0, 3000)
            probe = {part: Probe(position, first=position, timestamp=time.time() - 20, counted=1, upto=position + 1)}
            lag = tracker.see(Measure(began + 10 * poll, {part: position}, {part: ends}, probes=probe))
            if poll % 6 == 5:
                ward.tells(lag=lag, read_limit=200_000, started_at=began)
                assert ward.codes() == [], poll


def test_a_pipeline_that_never_ran_is_not_ill(tmp_path: Path) -> None:
    ward = Ward(tmp_path)
    shutil.rmtree(ward.state)
    shutil.rmtree(tmp_path / "lake")
    found = ward.report()
    assert (found.findings, list(found.unseen)) == ((), ["brokers"])


def test_a_state_folder_alone_is_enough(ward: Ward) -> None:
    ward.ran(30, every=10.0, rejected={"invalid_json": 600})
    found = diagnose(of_state(ward.state))
    assert (found.name, [each.code for each in found.findings]) == ("p", ["reject_rate"])
    again = diagnose(of_checkpoint(ward.state))
    assert (again.name, again.findings[0].cause) == ("p", found.findings[0].cause), "it is known for what it is"


def test_a_folder_that_is_no_state_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no state folder"):
        of_state(tmp_path)


def test_a_table_of_a_catalog_is_not_looked_at_and_that_is_said(tmp_path: Path) -> None:
    ward = Ward(tmp_path, {"sinks": {"lake": Sink(to=Delta(table="sales.orders"))}})
    found = ward.report()
    assert "only Spark knows" in found.unseen["table lake"]


def test_a_diagnosis_that_cannot_be_made_is_named_and_the_others_are_made(
    ward: Ward, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_patient: object) -> Any:
        raise RuntimeError("no such thing")

    ward.ran(30, every=10.0, rejected={"invalid_json": 600})
    monkeypatch.setattr("penstock.operate.doctor.DIAGNOSES", [replace(DIAGNOSES[0], test=breaks), *DIAGNOSES[1:]])
    found = ward.report()
    assert [each.code for each in found.findings] == ["reject_rate"]
    assert found.unseen[f"diagnosis {DIAGNOSES[0].code}"] == "RuntimeError: no such thing"


HARM: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "other bytes": lambda path: path.write_bytes(b"\xff\0{nonsense\n"),
    "other JSON": lambda path: path.write_bytes(b'{"a": 1}'),
}
REST = ("gone", "other bytes")


@pytest.mark.parametrize("how", ["cut", "other JSON", *(pytest.param(how, marks=pytest.mark.slow) for how in REST)])
def test_whatever_file_is_harmed_every_diagnosis_is_made(tmp_path: Path, how: str) -> None:
    ward = Ward(tmp_path / "whole")
    ward.ran(30, every=10.0)
    ward.past.batch(until="lake")
    ward.tells(lag=ward.fell_behind(), in_hand=InHand(3, time.time(), "tables", time.time()))
    names = [path.relative_to(ward.folder) for path in ward.folder.rglob("*") if path.is_file()]
    assert len(names) > 20
    for name in names:
        hurt = Path(shutil.copytree(ward.folder, tmp_path / "hurt", dirs_exist_ok=True))
        HARM[how](hurt / name)
        spark, table = hurt / "state" / "spark", str(hurt / "lake" / "lake")
        for patient in (of_state(hurt / "state"), of_checkpoint(spark, tables=[table])):
            found = diagnose(patient)
            assert [each for each in found.unseen if each.startswith("diagnosis")] == [], (name, found.unseen)
            assert found.findings or not patient.ours, f"{name} {how}: it was killed, whatever else"
        shutil.rmtree(hurt)


def test_nothing_is_written_by_a_look(ward: Ward) -> None:
    ward.ran(30, every=10.0, rejected={"invalid_json": 600})
    before = sorted((path, path.stat().st_mtime_ns, path.stat().st_size) for path in ward.folder.rglob("*"))
    ward.report()
    assert sorted((path, path.stat().st_mtime_ns, path.stat().st_size) for path in ward.folder.rglob("*")) == before
