"""One Kafka broker in a folder: its settings, its data, its command line. dev/kafka.py keeps it running."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from penstock.engine import jars
from penstock.engine.cache import write_atomically
from penstock.engine.java import java
from penstock.errors import SetupFailed

_MB = 1024 * 1024
_DATA = "data"
_LOGGING = ("defaultLogLevel=warn", "showDateTime=true", "dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS")
# A small heap, and quick to start rather than fast for days: this broker serves one developer.
_JVM = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError"]
_JVM += [f"-Dorg.slf4j.simpleLogger.{name}" for name in _LOGGING]


def properties(port: int, controller: int, extra: Mapping[str, str]) -> dict[str, str]:
    """The broker's settings: loopback only, one replica of everything, records kept until they are deleted."""
    listener, control = f"PLAINTEXT://127.0.0.1:{port}", f"CONTROLLER://127.0.0.1:{controller}"
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"{listener},{control}",
        "advertised.listeners": listener,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "log.dirs": _DATA,  # relative: a comma in an absolute path would make two folders of it
        "auto.create.topics.enable": "false",
        "num.partitions": "4",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "5",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "5",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "3000",  # after a crash, a new start waits until the old session has run out
        "message.max.bytes": str(16 * _MB),  # events of 10 MB work
        "replica.fetch.max.bytes": str(16 * _MB),
        "log.retention.ms": "-1",
        "offsets.retention.minutes": str(10 * 365 * 24 * 60),
        "log.cleaner.dedupe.buffer.size": str(16 * _MB),  # taken from the heap at start; the default is a quarter of it
        **extra,
    }


def with_door(port: int, controller: int, door: int, proxy: int) -> dict[str, str]:
    """Settings for a second listener, `door`, whose clients are told the proxy's port: the proxy alone connects to it.

    So no answer has to be rewritten on its way, whatever its version; and who asks at `port` goes round the proxy.
    """
    direct, proxied = f"PLAINTEXT://127.0.0.1:{port}", "PROXIED://127.0.0.1:"
    return {
        "listeners": f"{direct},{proxied}{door},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"{direct},{proxied}{proxy}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
    }


def new_id() -> str:
    """An id as Kafka writes its clusters' and folders'."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def prepare(
    home: Path,
    port: int,
    controller: int,
    extra: Mapping[str, str],
    *,
    cluster: str = "",
    quorum: str = "--standalone",
) -> None:
    """Write the settings for this start and, the first time, format the data folder: for a cluster of its own, or
    as a member of `cluster` with the controllers that `quorum` tells the tool.
    """
    settings = properties(port, controller, extra)
    write_atomically(home / "server.properties", _as_text(settings))
    if (home / "broker.log").exists():
        (home / "broker.log").replace(home / "broker.log.1")
    if not (home / _DATA / "meta.properties").exists():
        _format(home, settings, cluster or new_id(), quorum)


def command() -> list[str]:
    """What starts the broker, in its folder and with `environment()`."""
    return [str(java()), *_JVM, "kafka.Kafka", "server.properties"]


def environment() -> dict[str, str]:
    return {**os.environ, "CLASSPATH": os.pathsep.join(str(jar) for jar in jars.ensure("kafka"))}


def last_lines(log: Path, count: int = 12) -> str:
    """The end of the broker's log, indented; Java's stack frames left out."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    kept = [line for line in lines if line.strip() and not line.lstrip().startswith("at ")]
    return "\n".join(f"    {line[:300]}" for line in kept[-count:]) or "    (it is empty)"


def _format(home: Path, settings: Mapping[str, str], cluster: str, quorum: str) -> None:
    """Format a fresh folder beside the real one and rename it: a crash half-way leaves nothing that looks formatted."""
    fresh = home / f"{_DATA}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    write_atomically(home / "format.properties", _as_text({**settings, "log.dirs": fresh.name}))
    tool = ["kafka.tools.StorageTool", "format", quorum, f"--cluster-id={cluster}", "-c", "format.properties"]
    with (home / "format.log").open("wb") as log:
        done = subprocess.run(
            [str(java()), *_JVM, *tool], cwd=home, env=environment(), stdout=log, stderr=log, check=False
        )
    if done.returncode:
        raise SetupFailed(
            f"The embedded Kafka could not format its data folder {home / _DATA}. The end of {home / 'format.log'}:",
            data=last_lines(home / "format.log").lstrip(),
        )
    fresh.replace(home / _DATA)


def _as_text(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())
