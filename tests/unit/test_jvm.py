"""Spark's JVM as we start it: by the command that Spark's own launcher says; where that may differ, PySpark asks it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from penstock.engine import java, jvm
from penstock.engine.session import prepared
from penstock.testing.harness import wait_until


@pytest.fixture(autouse=True)
def _same_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """`prepared` puts something into it."""
    for name in [each for each in os.environ if each.startswith(("SPARK_", "PYSPARK_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", dict(os.environ))


def launchers_own(settings: dict[str, str]) -> list[str]:
    """What Spark's scripts would run."""
    told = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    asked = [
        *(str(java.java()), "-Xmx128m", "-cp", f"{jvm.spark_home() / 'jars'}/*", "org.apache.spark.launcher.Main"),
        *("org.apache.spark.deploy.SparkSubmit", *told, "pyspark-shell"),
    ]
    environment = {**os.environ, **jvm.environment(), "JAVA_HOME": str(java.java_home())}
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.lstrip("\0\n").rstrip("\0\n").split("\0")


def in_order(command: list[str]) -> list[str]:
    """The settings by name: Spark's launcher has them in an order of its own."""
    first = command.index("--conf")
    return [*command[:first], *sorted(word for word in command[first:] if word != "--conf")]


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"spark.driver.memory": "3g", "spark.driver.extraJavaOptions": "-Da=1 '-Db=two words'"},
        {"spark.driver.extraClassPath": "/a.jar:/b.jar", "spark.hadoop.fs.s3a.secret.key": "a b"},
    ],
    ids=["ours", "java options", "class path"],
)
def test_the_command_is_the_launchers_own(tmp_path: Path, overrides: dict[str, str]) -> None:
    settings = prepared("orders", overrides, tmp_path / "logs" / "spark.log")
    assert jvm.knows(settings)
    assert in_order(jvm.command(settings)) == in_order(launchers_own(settings))


@pytest.mark.parametrize(
    ("overrides", "environment"),
    [
        ({"spark.master": "spark://host:7077"}, {}),
        ({"spark.driver.defaultJavaOptions": "-Da=1"}, {}),
        ({}, {"SPARK_CONF_DIR": "/etc/spark"}),
        ({}, {"PYSPARK_SUBMIT_ARGS": "--packages a:b:1 pyspark-shell"}),
        ({}, {"PYSPARK_GATEWAY_PORT": "12345"}),
    ],
)
def test_where_more_goes_into_the_command_pyspark_may_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overrides: dict[str, str], environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setitem(os.environ, name, value)
    assert not jvm.knows(prepared("orders", overrides, tmp_path / "logs" / "spark.log"))


def test_a_name_that_the_file_gives_is_the_sessions(tmp_path: Path) -> None:
    settings = prepared("orders", {"spark.app.name": "mine"}, tmp_path / "logs" / "spark.log")
    assert settings["spark.app.name"] == "mine"


def test_a_jvm_that_nobody_took_is_ended_and_leaves_nothing(tmp_path: Path) -> None:
    started = jvm.Jvm(prepared("orders", {}, tmp_path / "logs" / "spark.log"), tmp_path / "spark.out")
    folder = started._folder
    assert folder.is_dir()
    assert (tmp_path / "spark.out").stat().st_mode & 0o077 == 0, "what it says is its owner's"
    started.end()
    wait_until(lambda: started.process.poll() is not None, "it ended")
    assert not folder.exists()


def test_a_jvm_that_cannot_start_is_told(tmp_path: Path) -> None:
    settings = prepared("orders", {"spark.driver.memory": "2x"}, tmp_path / "logs" / "spark.log")
    started = jvm.Jvm(settings, tmp_path / "spark.out")
    with pytest.raises(jvm.JvmEnded, match="ended with code 1"), started.offered():
        raise AssertionError("it was offered")
    assert "2x" in (tmp_path / "spark.out").read_text()
