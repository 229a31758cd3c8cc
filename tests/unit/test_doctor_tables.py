"""Tables of small or dead files, with a long log, with properties that do not fit, or that cannot be read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, convert_to_deltalake, write_deltalake
from tests.unit.doctor_kit import first
from tests.unit.foreign_kit import checkpoint

from penstock.operate.doctor import Report, diagnose
from penstock.operate.doctor.admission import of_checkpoint
from penstock.operate.doctor.tables import look_at
from penstock.operate.doctor.words import optimize, vacuum
from penstock.testing.meanwhile import meanwhile
from penstock.testing.ward import Ward


def test_many_small_files_an_hour_are_told(ward: Ward) -> None:
    ward.ran(300, every=10.0, files=20, bytes=200_000)
    assert ward.codes() == ["small_files"]


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
    told = f"has no checkpoint since {newest + 1100:,} commits"
    assert (found.code, told in found.cause) == ("long_log", True), found
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
        seen = {look_at("lake", str(log.parent)).health.version for _ in range(300)}
    assert seen == {DeltaTable(log.parent).version()}
