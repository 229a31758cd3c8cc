"""Breadth-first search of everything that can happen, and the shortest story of how it goes wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

State = TypeVar("State", bound=Hashable)


class Step(NamedTuple):
    """One thing that happens: who, and what."""

    who: str
    what: str

    def __str__(self) -> str:
        return f"{self.who} {self.what}"


class Model(Protocol[State]):
    """A protocol as states and steps."""

    def start(self) -> State:
        """Where everything begins."""
        ...

    def steps(self, state: State) -> Iterator[tuple[Step, State]]:
        """Everything that can happen next. What does not change the state may be left out."""
        ...

    def wrong(self, before: State, after: State) -> str | None:
        """What is wrong after this step, in words; None while all is well."""
        ...

    def plain(self, state: State) -> State:
        """The same state without what can no longer matter: equal for states with the same future."""
        ...


@dataclass(frozen=True)
class Verdict:
    """What a search found."""

    states: int
    problem: str | None = None
    story: tuple[Step, ...] = ()
    """The shortest way from the start to the problem."""

    @property
    def safe(self) -> bool:
        return self.problem is None

    def __str__(self) -> str:
        if self.problem is None:
            return f"safe: {self.states:,} states, no way to a wrong one"
        lines = [f"{number:4}  {step}" for number, step in enumerate(self.story, 1)]
        return "\n".join([f"{self.problem}, after {len(lines)} steps ({self.states:,} states):", *lines])


def search(model: Model[State], limit: int = 5_000_000) -> Verdict:
    """Look at every state that can be reached. Gives up, loudly, past `limit` states: that would prove nothing."""
    start = model.plain(model.start())
    came_from: dict[State, State | None] = {start: None}
    waiting = deque([start])
    while waiting:
        before = waiting.popleft()
        for _, reached in model.steps(before):
            after = model.plain(reached)
            problem = model.wrong(before, reached)
            if problem:
                way = [after, *_way_to(before, came_from)][::-1]
                return Verdict(len(came_from), problem, tuple(_story(model, way, problem)))
            if after not in came_from:
                came_from[after] = before
                waiting.append(after)
        if len(came_from) > limit:
            raise RuntimeError(f"more than {limit:,} states: nothing is proven. Make the model smaller.")
    return Verdict(len(came_from))


def _way_to(state: State, came_from: dict[State, State | None]) -> Iterator[State]:
    """The states from this one back to the start."""
    at: State | None = state
    while at is not None:
        yield at
        at = came_from[at]


def _story(model: Model[State], way: list[State], problem: str) -> Iterator[Step]:
    """The way once more, this time with the names that plain states have lost."""
    now = model.start()
    for number, target in enumerate(way[1:], 2):
        for step, reached in model.steps(now):
            goes_wrong = number == len(way) and model.wrong(now, reached) != problem
            if model.plain(reached) == target and not goes_wrong:
                now = reached
                yield step
                break
        else:
            raise AssertionError(f"`plain` hides something that matters: there is no step from {now} to {target}")
