"""Where the JVM and Python meet."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engine import sockets

DIR = "spark.python.unix.domain.socket.dir"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    sockets._folder.cache_clear()
    yield
    sockets._folder.cache_clear()


def test_the_folder_is_for_its_owner_alone_and_the_same_each_time() -> None:
    folder = Path(sockets.settings()[DIR])
    assert folder.stat().st_mode & 0o077 == 0
    assert sockets.settings()[DIR] == str(folder)


def test_where_paths_would_be_too_long_spark_keeps_its_ports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("f" * 80)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    assert sockets.settings() == {}


def test_the_folder_goes_with_the_process() -> None:
    code = f"from penstock.engine import sockets; print(sockets.settings()[{DIR!r}])"
    with tempfile.TemporaryDirectory() as short:  # pytest's own folders have names too long for a socket
        env = {**os.environ, "TMPDIR": short}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
        assert Path(done.stdout.strip()).parent == Path(short)
        assert list(Path(short).iterdir()) == []
