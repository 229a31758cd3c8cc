"""Which pipelines are shown: those of the files and state folders that were given. Their ids are made here."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import files
from penstock.errors import Refused
from penstock.ledger.ledger import generations
from penstock.observe import now as present
from penstock.observe.course import Courses
from penstock.paths import is_remote
from penstock.ui.books import Books
from penstock.ui.kept import Kept

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

MOST = 500
"""State folders that are looked for in a folder of them."""


@dataclass
class Shown:
    """A pipeline on the page, with what was read of it."""

    id: str
    name: str
    state: Path
    """Its state folder; on another file system: what stands for it on this machine."""
    pipeline: Pipeline | None = None
    file: str = ""
    notes: tuple[str, ...] = ()
    kept: Kept = field(default_factory=Kept)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @cached_property
    def books(self) -> Books:
        return Books(self.state, self.name)

    @cached_property
    def courses(self) -> Courses:
        return Courses(self.state)

    @property
    def command(self) -> str:
        """How the pipeline is called in a command that we propose."""
        return self.file or "FILE"


class Shop:
    """The pipelines that were asked for. A folder of state folders is looked at again and again: new ones join."""

    def __init__(self, pipelines: list[tuple[Path, Pipeline]], folders: list[Path]) -> None:
        self.folders = folders
        self._by_state: dict[Path, Shown] = {}
        self._ids: set[str] = set()
        self._lock = threading.Lock()
        for file, pipeline in pipelines:
            self._add(pipeline.workplace, pipeline.name, pipeline, file.name)

    def all(self) -> list[Shown]:
        """Every pipeline there is now, by name."""
        with self._lock:
            for folder in self.folders:
                for state in states_in(folder):
                    if state not in self._by_state:
                        self._add(state, name_of(state))
            return sorted(self._by_state.values(), key=lambda each: (each.name, each.id))

    def find(self, number: str) -> Shown | None:
        """The pipeline with this id."""
        return next((each for each in self.all() if each.id == number), None)

    def empty(self) -> list[Path]:
        """The folders that hold no state."""
        return [folder for folder in self.folders if not states_in(folder)]

    def _add(self, state: Path, name: str, pipeline: Pipeline | None = None, file: str = "") -> None:
        if state in self._by_state:
            return
        base = slug(name)
        made, number = base, 1
        while made in self._ids:
            number += 1
            made = f"{base}-{number}"
        self._ids.add(made)
        notes: tuple[str, ...] = ()
        if pipeline is not None and is_remote(pipeline.state):
            notes = (
                f"The ledger is at {pipeline.state}. This page reads folders of its own machine: it shows what the "
                f"run left here. For the rest:  penstock status {file}",
            )
        self._by_state[state] = Shown(made, name, state, pipeline, file, notes)


def slug(name: str) -> str:
    """A name as a part of an address: small letters, digits, dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "pipeline"


def states_in(folder: Path) -> list[Path]:
    """The folder, if it is a state folder; else the state folders in it."""
    if is_state(folder):
        return [folder]
    inner = (each for each in sorted(files.listed(folder), key=str) if isinstance(each, Path))
    return [each for each in inner if is_state(each)][:MOST]


def is_state(folder: Path) -> bool:
    return (folder / "ledger").is_dir() or (folder / "progress").is_dir()


def name_of(state: Path) -> str:
    """What a state folder says whose it is."""
    known = generations(state)
    try:
        body = files.read_json(state / "ledger" / f"g{known[-1]}" / "generation.json") if known else None
    except Refused:
        body = None
    told = (body or {}).get("pipeline")
    now = None if told else present.read(state)
    return str(told) if told else now.pipeline if now else state.name
