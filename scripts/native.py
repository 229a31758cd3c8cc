"""Builds the native decoder and installs it into .venv; `make native` and `make test` call it.

Nothing to do the second time: a stamp in .venv holds the checksum of what it was made from. Where there is no cargo
it says so in one line and ends well: penstock is complete without the native decoder.

    python scripts/native.py           build for this machine, install into .venv
    python scripts/native.py --wheel   build a wheel into dist/ (one for all Pythons from 3.11 on)
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATE = ROOT / "native"
BIN = ROOT / ".venv" / "bin"
STAMP = ROOT / ".venv" / ".made-native"
OLDEST = (1, 88)
TRIES = 3


def main() -> int:
    found = cargo()
    if found is None:
        version = ".".join(map(str, OLDEST))
        print(f"native: no cargo of version {version} or newer here, so JSON is decoded in Python. See  docs/json.md")
        return 0
    with (CRATE / "Cargo.toml").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two makes at once: one builds, the other waits and finds it done
        if "--wheel" in sys.argv:
            build(found, ROOT / "dist")
        elif not fresh() and fetched(found):
            install(found)
    return 0


def fetched(found: Path) -> bool:
    """Whether the crates of the lock are here, or can be had. Without a network for them nothing is built."""
    command = [found, "fetch", "--locked", "--manifest-path", CRATE / "Cargo.toml"]
    for _ in range(TRIES):
        done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return True
    why = done.stdout.strip()[-300:]
    print(f"native: its crates cannot be fetched, so JSON is decoded in Python: {why}", flush=True)
    return False


def cargo() -> Path | None:
    """The cargo of this machine, if it is new enough."""
    home = Path(os.environ.get("CARGO_HOME") or Path("~/.cargo").expanduser()) / "bin" / "cargo"
    found = shutil.which("cargo") or (str(home) if home.exists() else None)
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"(\d+)\.(\d+)", said)
    return Path(found) if version and (int(version[1]), int(version[2])) >= OLDEST else None


def sources() -> list[Path]:
    named = [CRATE / name for name in ("Cargo.toml", "Cargo.lock", "pyproject.toml")]
    return [*named, *sorted((CRATE / "src").rglob("*.rs"))]


def checksum() -> str:
    content = b"".join(path.read_bytes() for path in sources())
    return hashlib.sha256(content + str(ROOT).encode()).hexdigest()


def fresh() -> bool:
    """Whether what is installed was made from these sources."""
    installed = any((ROOT / ".venv").glob("lib/python*/site-packages/penstock_native/*.so"))
    return installed and STAMP.exists() and STAMP.read_text() == checksum()


def install(found: Path) -> None:
    print("native: building the decoder (a minute or two the first time)", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        build(found, Path(folder))
        [wheel] = Path(folder).glob("*.whl")
        pip = [BIN / "python", "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
        run([*pip, "--no-deps", "--no-index", "--force-reinstall", wheel])
    STAMP.write_text(checksum())
    print("native: ready", flush=True)


def build(found: Path, folder: Path) -> None:
    path = f"{found.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    command = [BIN / "maturin", "build", "--release", "--locked", "--manifest-path", CRATE / "Cargo.toml"]
    run([*command, "--interpreter", BIN / "python", "--out", folder], {**os.environ, "PATH": path})


def run(command: list[str | Path], env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, check=False, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.stderr.write("\n".join(done.stdout.splitlines()[-40:]) + "\n")
        raise SystemExit("native: that failed (above). Penstock works without it: JSON is then decoded in Python.")


if __name__ == "__main__":
    raise SystemExit(main())
