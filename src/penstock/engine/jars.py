"""The jars penstock needs, exactly: listed with their checksums, fetched once into a cache that all projects share."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.engine.cache import cache_home, locked, write_atomically
from penstock.errors import SetupFailed

LOCKS = {"spark": "spark-4.2.0", "kafka": "kafka-4.3.1"}
"""The sets of jars: what Spark needs beside PySpark's own, and the embedded broker."""

Progress = Callable[[str], None]
Facts = dict[str, tuple[int, int, str]]
"""File name -> size, time of last change in nanoseconds, and the sha-256 found then."""


@dataclass(frozen=True)
class Jar:
    """One line of a lock: coordinates and the checksum of the file."""

    group: str
    artifact: str
    version: str
    sha256: str
    classifier: str = ""
    ext: str = "jar"

    @property
    def coordinates(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"

    @property
    def file(self) -> str:
        return f"{self.artifact}-{self.version}.{self.ext}"


def ensure(name: str, progress: Progress | None = None) -> list[Path]:
    """The jars of the set `name`, each with the checksum of the lock; fetches those that are missing or corrupt.

    Quick and without network when all are there: a file of known size and time is not read again. Two processes
    at once are safe; a crash leaves whole jars, and a folder `.fetch-*` that the next fetch sweeps away.
    """
    say = progress or _silent
    if wrong(name):
        with locked(folder(name) / ".lock"):
            _mend(name, wrong(name), say)
    return [folder(name) / jar.file for jar in lock(name)]


def wrong(name: str, *, thorough: bool = False) -> dict[Jar, str]:
    """The jars of a set that cannot be used, and why not. `thorough` reads every file again, whatever is remembered."""
    known = {} if thorough else _remembered(name)
    found = {jar.file: fact for jar in lock(name) if (fact := _fact(folder(name) / jar.file, known))}
    if found != known and found:
        _remember(name, found)
    problems = {}
    for jar in lock(name):
        if jar.file not in found:
            problems[jar] = "is missing"
        elif found[jar.file][2] != jar.sha256:
            problems[jar] = f"is corrupt (sha-256 {found[jar.file][2]}, expected {jar.sha256})"
    return problems


@cache
def lock(name: str) -> tuple[Jar, ...]:
    """The jars of a set, in the lock's order."""
    if name not in LOCKS:
        raise ValueError(f"no set of jars is called {name!r}; there are {', '.join(LOCKS)}")
    text = (Path(__file__).parent / "locks" / f"{LOCKS[name]}.jars").read_text(encoding="utf-8")
    return tuple(_jar(*line.split()) for line in text.splitlines() if line.strip() and not line.startswith("#"))


def _jar(coordinates: str, sha256: str) -> Jar:
    group, artifact, version = coordinates.split(":")
    return Jar(group, artifact, version, sha256)


def folder(name: str) -> Path:
    """Where the jars of a set are kept."""
    return cache_home() / "jars" / LOCKS[name]


def sha256_of(path: Path) -> str:
    """The checksum of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _mend(name: str, problems: dict[Jar, str], say: Progress) -> None:
    """Fetch the jars that are wrong, check each, and move them in one by one."""
    from penstock.engine import ivy

    if not problems:
        return  # another process mended them while this one waited for the lock
    if len(problems) < len(lock(name)):  # a cache that was whole once: say what became of it
        for jar, problem in problems.items():
            say(f"{name} jars: {jar.file} {problem}; fetching it again")
    say(f"{name} jars: fetching {len(problems)} into {folder(name)}")
    for left_by_a_crash in folder(name).glob(".fetch-*"):
        shutil.rmtree(left_by_a_crash, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder(name)) as place:
        ivy.fetch(list(problems), Path(place), say)
        for jar in problems:
            check_fetched(Path(place) / jar.file, jar)
        for jar in problems:
            (Path(place) / jar.file).replace(folder(name) / jar.file)
    if left := wrong(name):
        raise SetupFailed(f"{name} jars: changed while they were being fetched: {', '.join(jar.file for jar in left)}.")
    say(f"{name} jars: all {len(lock(name))} there, checksums right")


def check_fetched(path: Path, jar: Jar) -> None:
    """Refuses a file that is not this jar."""
    found = sha256_of(path) if path.is_file() else "no file"
    if found != jar.sha256:
        raise SetupFailed(
            f"{jar.file}: what was fetched for {jar.coordinates} has sha-256 {found}, expected {jar.sha256}.",
            data="It was thrown away; the cache is as it was.",
            remedy="A proxy or a mirror may have answered with something else: see PENSTOCK_IVY_SETTINGS.",
        )


def _fact(path: Path, known: Facts) -> tuple[int, int, str] | None:
    try:
        stat = path.stat()
        before = known.get(path.name)
        if before and before[:2] == (stat.st_size, stat.st_mtime_ns):
            return before
        return stat.st_size, stat.st_mtime_ns, sha256_of(path)
    except FileNotFoundError:
        return None


def _remembered(name: str) -> Facts:
    try:
        entries = json.loads((folder(name) / "verified.json").read_text(encoding="utf-8"))
        return {file: (int(size), int(changed), str(sum_)) for file, (size, changed, sum_) in entries.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # nothing to go by: every file is read


def _remember(name: str, found: Facts) -> None:
    try:
        write_atomically(folder(name) / "verified.json", json.dumps(found, indent=1))
    except PermissionError:
        return  # a cache that is read-only for us: right, but read in full each time


def _silent(_line: str) -> None:
    """For callers that do not listen."""
