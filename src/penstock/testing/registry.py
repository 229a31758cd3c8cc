"""A real schema registry for tests: Apicurio, which speaks Confluent's API, on a port of its own."""

from __future__ import annotations

import signal
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.dev.launcher import die_with_this_process
from penstock.dev.ports import free_port
from penstock.engine import ivy
from penstock.engine.cache import cache_home, locked
from penstock.engine.jars import Jar, sha256_of
from penstock.engine.java import java
from penstock.testing.harness import wait_until

ARCHIVE = Jar(
    "io.apicurio",
    "apicurio-registry-app",
    "3.0.9",
    "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43",
    classifier="all",
    ext="tar.gz",
)
"""109 MB, fetched once into the cache that all projects share."""
RUNNER = "apicurio-registry-app-3.0.9-runner.jar"


@dataclass
class Apicurio:
    """A registry that can be stopped and started again, as if it were away for a while; what it held is then gone,
    unless it was only held up (`held_up`)."""

    port: int
    log: Path
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def start(self) -> None:
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                _command(self.port),
                cwd=_home(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                preexec_fn=die_with_this_process,  # noqa: PLW1509 one thread
            )
        wait_until(self._answers, "the registry answers")

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=2) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """It takes connections and answers nobody while the block runs; what it holds is still there afterwards."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.let_go()

    def let_go(self) -> None:
        """Let it answer again."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)


@contextmanager
def apicurio(folder: Path) -> Iterator[Apicurio]:
    """An empty registry while the block runs. Its log is in this folder."""
    folder.mkdir(parents=True, exist_ok=True)
    registry = Apicurio(free_port(), folder / "apicurio.log")
    registry.start()
    try:
        yield registry
    finally:
        registry.stop()


def _command(port: int) -> list[str]:
    settings = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": str(port),
        "quarkus.http.access-log.enabled": "false",
        "apicurio.storage.kind": "sql",
        "apicurio.storage.sql.kind": "h2",
        "apicurio.datasource.url": f"jdbc:h2:mem:registry{port}",
        "apicurio.rest.deletion.artifact.enabled": "true",
        "apicurio.rest.deletion.artifact-version.enabled": "true",
    }
    memory = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [str(java()), *memory, *(f"-D{name}={value}" for name, value in settings.items()), "-jar", RUNNER]


def _home() -> Path:
    """The unpacked registry, fetched if it is not there."""
    place = cache_home() / "apicurio-3.0.9"
    with locked(place / ".lock"):
        if not (place / "app" / RUNNER).exists():
            with TemporaryDirectory(dir=place) as fetched:
                archive = Path(fetched) / ARCHIVE.file
                ivy.fetch([ARCHIVE], Path(fetched), lambda _line: None)
                assert sha256_of(archive) == ARCHIVE.sha256, "the archive is not the one that is meant"
                with tarfile.open(archive) as packed:
                    _unpack(packed, Path(fetched) / "app")
                (Path(fetched) / "app").replace(place / "app")
    return place / "app"


def _unpack(packed: tarfile.TarFile, folder: Path) -> None:
    """Nothing leaves the folder. Python before 3.11.4 cannot be told so; there the checksum must do."""
    if hasattr(tarfile, "data_filter"):
        packed.extraction_filter = tarfile.data_filter
    packed.extractall(folder)
