"""Virtual environments for the other frameworks, each from a lock of its own: `.venv-peers`, `.venv-flink`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from bench.flink import CONNECTOR
from bench.roster import ROSTER
from bench.run import say
from penstock.engine import ivy, jars

ROOT = Path(__file__).resolve().parent.parent
FRAMEWORKS = {"peers": "Bytewax, Quix and Pathway", "flink": "PyFlink"}
FLINK_KAFKA = jars.Jar(
    "org.apache.flink",
    "flink-sql-connector-kafka",
    "5.0.0-2.2",
    "5605c691d11a501382c383fecba37a7a552467da5ab7ba904ef5d6f3d62c5616",
)


def environments(variants: Iterable[str]) -> dict[str, Path]:
    """The Pythons that these variants run in, by the name of the environment."""
    return {name: environment(name) for name in sorted({ROSTER[variant].peer for variant in variants} - {""})}


def environment(name: str) -> Path:
    """Its Python. Made once, and again when the lock changes."""
    folder, lock = ROOT / f".venv-{name}", ROOT / f"requirements-{name}.lock"
    python, stamp = folder / "bin" / "python", folder / ".made"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        say(f"making {folder.name} for {FRAMEWORKS[name]}")
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
        ]
        subprocess.run([*pip, "-r", lock], check=True)
        if name == "flink":
            _fetch_connector(folder)
        stamp.write_text(digest)
    return python


def _fetch_connector(folder: Path) -> None:
    """Flink's jar for Kafka, which comes with no package."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        ivy.fetch([FLINK_KAFKA], Path(place), say)
        fetched = Path(place) / FLINK_KAFKA.file
        jars.check_fetched(fetched, FLINK_KAFKA)
        fetched.replace(folder / CONNECTOR)
