"""Kafka's own tool for consumer groups, in tests: what `kafka-consumer-groups --describe` shows of a group."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import NamedTuple

from penstock.engine import ivy, jars
from penstock.engine.cache import cache_home, locked
from penstock.engine.jars import Jar, sha256_of
from penstock.engine.java import java

TOOLS = Jar(
    "org.apache.kafka", "kafka-tools", "4.3.1", "62f3c5dd7aa3442d4c5bc6a95f86e2502178ea09de8e27f74d9563bf955e253c"
)
COMMAND = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


class Shown(NamedTuple):
    """A line of the tool: a partition of the group."""

    current: int
    end: int
    lag: int


def described(bootstrap: str, group: str) -> dict[tuple[str, int], Shown]:
    """The group, as Kafka's own tool describes it."""
    command = [str(java()), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", COMMAND]
    command += ["--bootstrap-server", bootstrap, "--describe", "--group", group]
    paths = os.pathsep.join(map(str, [*jars.ensure("kafka"), _tools()]))
    done = subprocess.run(
        command, env={**os.environ, "CLASSPATH": paths}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(f"{group} ")]
    return {(row[1], int(row[2])): Shown(*map(int, row[3:6])) for row in rows}


def _tools() -> Path:
    folder = cache_home() / "jars" / f"kafka-tools-{TOOLS.version}"
    path = folder / TOOLS.file
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        if not path.exists() or sha256_of(path) != TOOLS.sha256:
            ivy.fetch([TOOLS], folder, lambda _line: None)
    assert sha256_of(path) == TOOLS.sha256, f"{path} is not the jar that it should be"
    return path
