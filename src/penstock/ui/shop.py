"""Which pipelines are shown: those of the files and state folders that were given. Their ids are made here."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.observe.course import Courses
from penstock.operate.panorama import Watch, named, states_in
from penstock.operate.stamps import Kept
from penstock.operate.standings import Standing, Subject
from penstock.ui.books import Books

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline


@dataclass
class Shown:
    """A pipeline on the page, with what was read of it."""

    id: str
    subject: Subject
    pipeline: Pipeline | None = None
    kept: Kept = field(default_factory=Kept)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def name(self) -> str:
        return self.subject.name or self.subject.state.name

    @property
    def state(self) -> Path:
        """Its state folder; on another file system: what stands for it on this machine."""
        return self.subject.state

    @property
    def file(self) -> str:
        return self.subject.file

    @cached_property
    def watch(self) -> Watch:
        return Watch(self.subject)

    def look(self) -> Standing:
        """How it stands now. For one thread at a time."""
        return self.watch.look()

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
            self._add(Subject.of(pipeline, file.name), pipeline)

    def all(self) -> list[Shown]:
        """Every pipeline there is now, by name."""
        with self._lock:
            for folder in self.folders:
                for state in states_in(folder):
                    if state.resolve() not in self._by_state:
                        self._add(named(state))
            return sorted(self._by_state.values(), key=lambda each: (each.name, each.id))

    def find(self, number: str) -> Shown | None:
        """The pipeline with this id."""
        return next((each for each in self.all() if each.id == number), None)

    def empty(self) -> list[Path]:
        """The folders that hold no state."""
        return [folder for folder in self.folders if not states_in(folder)]

    def _add(self, subject: Subject, pipeline: Pipeline | None = None) -> None:
        if subject.state.resolve() in self._by_state:
            return
        base = slug(subject.name or subject.state.name)
        made, number = base, 1
        while made in self._ids:
            number += 1
            made = f"{base}-{number}"
        self._ids.add(made)
        self._by_state[subject.state.resolve()] = Shown(made, subject, pipeline)


def slug(name: str) -> str:
    """A name as a part of an address: small letters, digits, dashes."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "pipeline"
