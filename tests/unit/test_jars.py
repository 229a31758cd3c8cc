"""The cache of jars: what is there is used, what is not is fetched, what is wrong is named."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.engine import ivy, jars
from penstock.engine.jars import Jar
from penstock.errors import SetupFailed

CONTENT = {"alpha": b"the first jar", "beta": b"the second jar"}
SET = tuple(Jar("org.example", name, "1.0", hashlib.sha256(content).hexdigest()) for name, content in CONTENT.items())


class Mirror:
    """Stands where Ivy does: writes the jars asked for, and remembers which those were."""

    def __init__(self) -> None:
        self.served = dict(CONTENT)
        self.asked: list[list[str]] = []

    def fetch(self, wanted: Sequence[Jar], into: Path, _progress: jars.Progress) -> None:
        self.asked.append([jar.artifact for jar in wanted])
        for jar in wanted:
            (into / jar.file).write_bytes(self.served[jar.artifact])


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mirror:
    """A cache of the test's own, two jars in the set `spark`, and a mirror that holds them."""
    made = Mirror()
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setattr(jars, "lock", lambda _name: SET)
    monkeypatch.setattr(ivy, "fetch", made.fetch)
    return made


def test_the_locks_are_whole() -> None:
    for name, count in (("spark", 12), ("kafka", 46)):
        found = jars.lock(name)
        assert len({jar.file for jar in found}) == count
        assert all(len(bytes.fromhex(jar.sha256)) == 32 for jar in found)


def test_jars_are_fetched_once(mirror: Mirror) -> None:
    paths = jars.ensure("spark")
    assert [path.read_bytes() for path in paths] == list(CONTENT.values())
    assert jars.ensure("spark") == paths
    assert mirror.asked == [["alpha", "beta"]]


@pytest.mark.parametrize(
    ("damage", "word"),
    [(Path.unlink, "missing"), (lambda path: path.write_bytes(b"cut sh"), "corrupt")],
    ids=["deleted", "overwritten"],
)
def test_a_jar_that_went_wrong_is_named_and_fetched_again(mirror: Mirror, damage: object, word: str) -> None:
    beta = jars.ensure("spark")[1]
    assert callable(damage)
    damage(beta)
    said: list[str] = []
    jars.ensure("spark", said.append)
    assert mirror.asked == [["alpha", "beta"], ["beta"]]
    assert beta.read_bytes() == CONTENT["beta"]
    assert any("beta-1.0.jar" in line and word in line for line in said)


def test_a_change_that_keeps_size_and_time_is_found_by_a_thorough_look(mirror: Mirror) -> None:
    beta = jars.ensure("spark")[1]
    before = beta.stat()
    beta.write_bytes(b"THE SECOND JAR")
    os.utime(beta, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not jars.wrong("spark")
    assert [jar.artifact for jar in jars.wrong("spark", thorough=True)] == ["beta"]
    jars.ensure("spark")
    assert beta.read_bytes() == CONTENT["beta"]
    assert not jars.wrong("spark", thorough=True)


def test_a_wrong_checksum_after_the_fetch_is_refused_and_leaves_the_cache_alone(mirror: Mirror) -> None:
    alpha, beta = jars.ensure("spark")
    beta.unlink()
    mirror.served["beta"] = b"<html>log in first</html>"
    with pytest.raises(SetupFailed) as failure:
        jars.ensure("spark")
    for part in ("beta-1.0.jar", SET[1].sha256, hashlib.sha256(mirror.served["beta"]).hexdigest()):
        assert part in str(failure.value)
    assert sorted(path.name for path in alpha.parent.iterdir()) == [".lock", alpha.name, "verified.json"]


def test_two_at_once_fetch_once(mirror: Mirror) -> None:
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: jars.ensure("spark"), range(4)))
    assert found[0] == found[1] == found[2] == found[3]
    assert mirror.asked == [["alpha", "beta"]]


def test_what_is_remembered_may_be_lost_or_garbled(mirror: Mirror) -> None:
    memory = jars.ensure("spark")[0].parent / "verified.json"
    for text in ("", "[]", '{"alpha-1.0.jar": 3}', "null"):
        memory.write_text(text)
        assert len(jars.ensure("spark")) == 2
    assert len(mirror.asked) == 1


def test_a_full_cache_is_found_without_reading_a_jar(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    found = jars.ensure("spark")
    monkeypatch.setattr("penstock.engine.jars.hashlib.sha256", None)
    assert jars.ensure("spark") == found


def test_asking_for_jars_imports_no_pyspark() -> None:
    code = "import sys; from penstock.engine import ivy, jars; ivy._ivy_jar(); sys.exit('pyspark' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    assert subprocess.run([sys.executable, "-c", code], check=False, env=environment).returncode == 0


def test_the_packages_line_is_what_a_cluster_takes() -> None:
    from penstock.cli import built

    result = CliRunner().invoke(built(), ["jars", "--packages"])
    flag, _, names = result.stdout.strip().partition(" ")
    assert (result.exit_code, flag) == (0, "--packages")
    assert [name.count(":") for name in names.split(",")] == [2] * 12


def test_jars_says_what_is_not_there(mirror: Mirror) -> None:
    from penstock.cli import built

    listed = json.loads(CliRunner().invoke(built(), ["jars", "spark", "--json"]).stdout)
    assert [(row["coordinates"], row["state"]) for row in listed] == [
        ("org.example:alpha:1.0", "is missing"),
        ("org.example:beta:1.0", "is missing"),
    ]
    assert "penstock jars --fetch" in CliRunner().invoke(built(), ["jars", "spark"]).stdout
    assert CliRunner().invoke(built(), ["jars", "spark", "--verify"]).exit_code == 0
    assert not jars.wrong("spark")
