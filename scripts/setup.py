"""Makes .venv ready: pinned wheels, penstock itself, Java if the machine has none, jars. Called by every make target.

Needs a Python of 3.11 or newer and its standard library. Each part leaves a stamp in .venv with the checksum of what it
was made from, so a second call downloads nothing and takes a fraction of a second.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
BUILD, WHEELS, JAVA = (ROOT / f"requirements{part}.lock" for part in ("-build", "", "-java"))


def main() -> int:
    started = time.monotonic()
    with (ROOT / "pyproject.toml").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two makes at once: one works, the other waits and finds it done
        worked = [make_venv(), install_wheels(), install_penstock(), fetch_runtime()]
    if any(worked):
        print(f"setup: ready in {time.monotonic() - started:.0f} s", flush=True)
    return 0


def make_venv() -> bool:
    if PYTHON.exists():  # a link: it does not exist once the Python it was made with is gone
        return False
    say("making .venv with " + sys.version.split()[0])
    run([sys.executable, "-m", "venv", "--clear", VENV], "On Debian and Ubuntu:  apt-get install python3-venv")
    return True


def install_wheels() -> bool:
    stamp = Stamp("wheels", BUILD, WHEELS)
    if stamp.fresh():
        return False
    say("fetching pinned packages (some 700 MB the first time; PySpark is the largest)")
    pip("--require-hashes", "-r", BUILD)
    pip("--require-hashes", "--no-build-isolation", "-r", WHEELS)
    return stamp.set()


def install_penstock() -> bool:
    stamp = Stamp("penstock", ROOT / "pyproject.toml", ROOT / "src/penstock/version.py", WHEELS)
    if stamp.fresh():
        return False
    say("installing penstock from this folder")
    pip("--no-deps", "--no-build-isolation", "-e", ROOT)
    return stamp.set()


def fetch_runtime() -> bool:
    """Java and jars. Asked of penstock itself each time: both live outside .venv, where they may be removed."""
    done = subprocess.run([PYTHON, ROOT / "scripts" / "fetch_jars.py"], check=False).returncode
    if done == NO_JAVA:
        say("this machine has no Java 17 or newer: fetching a runtime into .venv")
        pip("--require-hashes", "-r", JAVA)
        return fetch_runtime()
    if done not in (0, FETCHED):
        raise SystemExit(done)
    return done == FETCHED


FETCHED, NO_JAVA = 10, 11
"""What scripts/fetch_jars.py ends with when it had something to do, and when it found no Java."""


class Stamp:
    """A file in .venv that holds the checksum of what a part was made from."""

    def __init__(self, name: str, *sources: Path) -> None:
        self.path = VENV / f".made-{name}"
        content = b"".join(source.read_bytes() for source in sources)
        self.sum = hashlib.sha256(content + str(ROOT).encode()).hexdigest()

    def fresh(self) -> bool:
        return self.path.exists() and self.path.read_text() == self.sum

    def set(self) -> bool:
        self.path.write_text(self.sum)
        return True


def pip(*arguments: str | Path) -> None:
    """pip with its own progress bar on a terminal; elsewhere one plain line for each package it fetches."""
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", *arguments]
    if sys.stdout.isatty():
        run(command, "Check the network, then run this again: what is there stays.")
    else:
        run_plainly([*command, "--progress-bar", "off"])


def run_plainly(command: list[str | Path]) -> None:
    said = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            said.append(line)
            word, _, rest = line.strip().partition(" ")
            if word in ("Downloading", "Building") and "metadata" not in rest:
                say(f"  {'fetching' if word == 'Downloading' else 'building'} {rest.rsplit('/', 1)[-1]}")
    if process.returncode:
        sys.stderr.writelines(said[-40:])
        raise SystemExit("setup: pip failed (above). Check the network, then run this again: what is there stays.")


def run(command: list[str | Path], remedy: str) -> None:
    if subprocess.run(command, check=False).returncode:
        raise SystemExit(f"setup: that failed (above). {remedy}")


def say(line: str) -> None:
    print(f"setup: {line}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
