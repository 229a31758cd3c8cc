"""A virtual environment for the other frameworks, from a lock of their own: `.venv-peers`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements-peers.lock"


def environment() -> Path:
    """Its Python. Made once, and again when the lock changes."""
    folder = ROOT / ".venv-peers"
    python, stamp = folder / "bin" / "python", folder / ".made"
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != digest:
        print("making .venv-peers for Bytewax and Quix", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip: list[str | Path] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            LOCK,
        ]
        subprocess.run(pip, check=True)
        stamp.write_text(digest)
    return python
