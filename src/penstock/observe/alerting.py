"""When an alert is raised and when it is over: readings and a time go in, changes come out. It knows no clock.

A rule holds, or not, at each look. An alert is raised once its rule has held for long enough, and is over once that
has not been so for long enough; in between nothing is said again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from penstock.alarms import Condition
from penstock.observe.metrics import METRICS, Labels, Readings

RATE_SECONDS = 300.0
"""Counters are compared by their growth a second over so long."""


@dataclass(frozen=True)
class Finding:
    """That a rule holds: the figure, whose it is, and the whole in words."""

    text: str
    value: float
    subject: str = ""
    """A topic, a sink, a code; empty for the pipeline as a whole."""


Test = Callable[[Readings], Finding | None]


@dataclass(frozen=True)
class Rule:
    """One alert: what is looked for, how long, and what to tell."""

    name: str
    test: Test
    when: str
    """The test in words."""
    cause: str
    next_step: str
    for_seconds: float = 0.0
    looks: int = 1
    """At so many looks in a row it must hold."""
    over: Test | None = None
    """Holds when the alert is over; without it: when `test` does not."""
    over_seconds: float = 0.0
    notify: tuple[str, ...] | None = None
    """Whom to tell; None: everybody."""
    counters: tuple[str, ...] = ()
    """Counters whose growth the tests want."""


@dataclass(frozen=True)
class Change:
    """An alert is raised, or over."""

    rule: Rule
    raised: bool
    finding: Finding
    at: float
    since: float
    """When its rule began to hold."""


@dataclass
class _Course:
    """Where one alert stands."""

    since: float | None = None
    looks: int = 0
    finding: Finding | None = None
    active: bool = False
    calm_since: float | None = None


class Alarms:
    """The alerts of one pipeline, over time."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._courses = {rule.name: _Course() for rule in self.rules}
        self._growth = Growth({name for rule in self.rules for name in rule.counters})

    @property
    def active(self) -> tuple[str, ...]:
        return tuple(name for name, course in self._courses.items() if course.active)

    def standing(self) -> list[tuple[Rule, Finding, float]]:
        """Alerts that are raised: what was last found, and since when."""
        found = ((rule, self._courses[rule.name]) for rule in self.rules)
        return [
            (rule, each.finding, each.since)
            for rule, each in found
            if each.active and each.finding is not None and each.since is not None
        ]

    def look(self, readings: Readings, at: float) -> list[Change]:
        """What has changed at this look."""
        seen = readings | self._growth.of(readings, at)
        found = (self._step(rule, self._courses[rule.name], seen, at) for rule in self.rules)
        return [change for change in found if change is not None]

    def _step(self, rule: Rule, course: _Course, readings: Readings, at: float) -> Change | None:
        finding = rule.test(readings)
        if finding is not None:
            course.since = at if course.since is None else course.since
            course.looks += 1
            course.finding = finding
        if course.active:
            return self._maybe_over(rule, course, readings, at, finding)
        return self._maybe_raised(rule, course, at, finding)

    def _maybe_raised(self, rule: Rule, course: _Course, at: float, finding: Finding | None) -> Change | None:
        if finding is None or course.since is None:
            course.since, course.looks = None, 0
            return None
        if course.looks < rule.looks or at - course.since < rule.for_seconds:
            return None
        course.active, course.calm_since = True, None
        return Change(rule, True, finding, at, course.since)

    def _maybe_over(
        self, rule: Rule, course: _Course, readings: Readings, at: float, finding: Finding | None
    ) -> Change | None:
        calm = finding is None if rule.over is None else rule.over(readings) is not None
        if not calm:
            course.calm_since = None
            return None
        course.calm_since = at if course.calm_since is None else course.calm_since
        if at - course.calm_since < rule.over_seconds:
            return None
        last, since = course.finding or Finding("", 0.0), course.since or at
        self._courses[rule.name] = _Course()
        return Change(rule, False, last, at, since)


@dataclass
class Growth:
    """How fast counters grow."""

    names: set[str]
    _past: deque[tuple[float, Readings]] = field(default_factory=deque)

    def of(self, readings: Readings, at: float) -> Readings:
        """Growth a second since five minutes ago, or since the first look. Nothing at the first look."""
        if not self.names:
            return {}
        present = {name: readings.get(name, {}) for name in self.names}
        while len(self._past) > 1 and self._past[1][0] <= at - RATE_SECONDS:
            self._past.popleft()
        began, before = self._past[0] if self._past else (at, present)
        self._past.append((at, present))
        if at <= began:
            return {name: {} for name in self.names}
        return {name: _rates(before[name], present[name], at - began) for name in self.names}


def _rates(before: dict[Labels, float], now: dict[Labels, float], seconds: float) -> dict[Labels, float]:
    return {labels: (value - before.get(labels, 0.0)) / seconds for labels, value in now.items()}


def threshold(condition: Condition) -> Test:
    """Looks whether any value of the metric is beyond the number; the one that is farthest is told."""

    def test(readings: Readings) -> Finding | None:
        beyond = [each for each in readings.get(condition.metric.name, {}).items() if condition.holds(each[1])]
        if not beyond:
            return None
        choose = max if condition.sign.startswith(">") else min
        labels, value = choose(beyond, key=lambda each: each[1])
        subject = " ".join(labels)
        of = f" of {subject}" if subject else ""
        pace = " a second" if condition.metric.kind == "counter" else ""
        return Finding(f"{condition.metric.name}{of} is {shown(condition, value)}{pace}", value, subject)

    return test


def shown(condition: Condition, value: float) -> str:
    """The figure with its unit, for people."""
    unit = METRICS[condition.metric.name].unit
    return duration(value) if unit == "seconds" and condition.metric.kind == "gauge" else number(value)


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def duration(seconds: float) -> str:
    for size, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
