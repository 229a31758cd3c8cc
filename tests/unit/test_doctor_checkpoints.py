"""Checkpoints of any Spark job: healthy, damaged, hanging, behind their table, with a wrong clock, too frequent."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, Transaction, write_deltalake
from tests.unit.doctor_kit import first
from tests.unit.foreign_kit import checkpoint, offsets

from penstock.operate.doctor import diagnose
from penstock.operate.doctor.admission import of_checkpoint

QUERY = "7a0e3b6c-0000-4000-8000-000000000000"


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


def test_a_checkpoint_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, 4, 4)
    (folder / "metadata").unlink()
    (folder / "metadata").mkdir()
    found = first(diagnose(of_checkpoint(folder)))
    assert (found.code, "cannot be read: IsADirectoryError" in found.cause) == ("damaged_checkpoint", True)


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
