"""What the transaction model is made of: the attempts, where they stand, and what readers can see."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple, TypeVar

from penstock.testing.model.coordinator import Coordinator, Mark

Item = TypeVar("Item")


class Work(NamedTuple):
    """A batch with its content: the same number with other content is another work."""

    batch: int
    content: str

    def __str__(self) -> str:
        return f"batch {self.batch}{self.content}"


WORKS = (Work(0, ""), Work(1, ""), Work(1, " with other content"))
HALVES = 2


class At(IntEnum):
    """The step an attempt takes next."""

    FENCE = 0
    CHECK = 1
    WRITE_1 = 2
    WRITE_2 = 3
    SEND_MARKER = 4
    COMMIT = 5
    AWAIT = 6
    MARK = 7
    """Only without MARKER_INSIDE: commit the marker by itself."""
    OVER = 8


NEEDS_EPOCH = (At.WRITE_1, At.WRITE_2, At.SEND_MARKER, At.COMMIT, At.AWAIT)


class Attempt(NamedTuple):
    name: int
    work: int
    at: At
    coordinator: int
    epoch: int = -1

    def __str__(self) -> str:
        return f"A{self.name}"


class World(NamedTuple):
    """Brokers, attempts, and what the drivers were told."""

    coordinators: tuple[Coordinator, ...]
    visible: tuple[int, ...]
    """How often each piece (work, half) can be read."""
    marker: Mark | None
    told_done: tuple[bool, ...]
    """For each work: whether an attempt reported it as done."""
    attempts: tuple[Attempt, ...] = ()
    started: int = 0

    def with_attempt(self, attempt: Attempt) -> World:
        return self._replace(attempts=tuple(attempt if a.name == attempt.name else a for a in self.attempts))

    def with_coordinator(self, index: int, coordinator: Coordinator) -> World:
        return self._replace(coordinators=put(self.coordinators, index, coordinator))


def wrong_rows(visible: tuple[int, ...]) -> str | None:
    """What a reader of committed rows would find wrong."""
    for number, work in enumerate(WORKS):
        first, second = visible[number * HALVES : (number + 1) * HALVES]
        if max(first, second) > 1:
            return f"DOUBLED: rows of {work} can be read twice"
        if first != second:
            return f"TORN: one half of {work} can be read, the other cannot"
    if visible[2] and visible[4]:
        return "DOUBLED: batch 1 was written with two contents"
    if not visible[0] and (visible[2] or visible[4]):
        return "LOST: batch 1 can be read, batch 0 was left out"
    return None


def put(items: tuple[Item, ...], index: int, item: Item) -> tuple[Item, ...]:
    return (*items[:index], item, *items[index + 1 :])
