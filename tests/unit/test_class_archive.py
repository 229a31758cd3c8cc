"""The class archive: named for what it fits, used where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engine import archive


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.delenv(archive.TRAINING, raising=False)
    return tmp_path


def test_without_an_archive_the_jvm_is_told_nothing() -> None:
    assert archive.java_options() == ""


def test_an_archive_that_is_there_is_used() -> None:
    archive.place().parent.mkdir(parents=True)
    archive.place().write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={archive.place()}" in archive.java_options()


def test_a_training_run_writes_one_and_uses_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    archive.place().parent.mkdir(parents=True)
    archive.place().write_bytes(b"classes")
    monkeypatch.setenv(archive.TRAINING, str(tmp_path / "new.jsa"))
    assert archive.java_options() == f"-XX:ArchiveClassesAtExit={tmp_path / 'new.jsa'}"


def test_other_jars_have_another_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive.place()
    monkeypatch.setattr("penstock.engine.jars.lock", lambda _name: ())
    assert archive.place() != before


def test_a_folder_with_a_blank_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "my cache"))
    archive.place().parent.mkdir(parents=True)
    archive.place().write_bytes(b"classes")
    assert archive.java_options() == "", "a blank would end the option"
