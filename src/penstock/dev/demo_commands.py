"""Commands as the user of the demo would type them here: they work when pasted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path


def penstock() -> str:
    """How this `penstock` was called, as short as it can be."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{python()} -m penstock"
    on_path = shutil.which("penstock")
    if on_path and called.exists() and Path(on_path).samefile(called):
        return "penstock"
    return typed(called)


def python() -> str:
    """The Python that has penstock installed."""
    return typed(Path(sys.executable))


def typed(path: Path) -> str:
    """A path for the shell: from here if it lies below, and quoted where it must be."""
    return shlex.quote(str(_near(path)))


def next_steps(folder: Path, file: Path, dead_letters: Path) -> list[tuple[str, list[str]]]:
    """What to try next: a few words, and the commands."""
    show = (
        "from deltalake import DeltaTable as T, QueryBuilder as Q; "
        "print(Q().register('dead', T('{}')).execute('SELECT code, field, detail FROM dead').read_all())"
    )
    me, at = penstock(), f"--folder {typed(folder)}"
    event = """echo '{"event_id": "mine"}'"""
    return [
        (
            "how it stands, and whether the file is right after you edited it",
            [f"{me} {verb} {typed(file)}" for verb in ("status", "validate")],
        ),
        ("the dead letters", [f"{python()} -c {_in_quotes(show.format(_plain(dead_letters)))}"]),
        ("an event of your own", [f"{me} dev up {at}", f"{event} | {me} dev produce payments {at}"]),
        ("what becomes of it", [f"{me} run {typed(file)} --once", f"{me} dev down {at}"]),
    ]


def _near(path: Path) -> Path:
    absolute = Path(os.path.normpath(path.absolute()))  # not resolve(): the Python of a virtual environment is a link
    return absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else absolute


def _plain(path: Path) -> str:
    """A path inside a Python string in single quotes."""
    return str(_near(path)).replace("\\", "\\\\").replace("'", "\\'")


def _in_quotes(code: str) -> str:
    """Double quotes where the shell takes nothing in them for its own: they leave Python's single ones readable."""
    return shlex.quote(code) if set(code) & set('"$`\\!') else f'"{code}"'
