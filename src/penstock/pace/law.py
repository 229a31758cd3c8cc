"""The control law of the governor: what is known, and what the last batch was like -> how large the next may be.

A batch of n rows is taken to last `fixed + n / rate` seconds. Both are learned from what batches took. The limit
follows from them: it grows by steps while batches are short, shrinks at once when one is too long, and stays where it
is while batches are near the target, so that noise moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

FIRST_ROWS = 10_000
"""The limit of a first batch: small, whatever waits. Nothing is known yet, and workers and compiler are cold."""
LEAST_ROWS = 100
AIM = 0.95
"""Of the target: a batch that lasts a little longer than was thought is still within it."""
CALM = (0.8, 1.2)
"""While a full batch is thought to last between these shares of the target, the limit is left as it is."""
ALARM = 1.4
"""A batch that lasts so many times what was thought, or wished, is believed at once; else the average is taken."""
STEPS = ((0.1, 8.0), (0.3, 4.0), (1.0, 2.0))
"""A full batch that took at most this share of the target -> how many times as many rows the next may have."""
FULL = 0.8
"""A batch with this share of its limit was cut off by the limit, or nearly."""
WORTH = 2.0
"""A batch lasts at least so many times its fixed cost: shorter ones would mostly be overhead."""
COLD_PART = 4
"""The first batch of a process makes the limit this part of what it was, at most."""
PROBE_AFTER, PROBE_TIMES = 3, 2.0
"""A pipeline that falls behind at the same size for so many batches is tried with so many times the rows, once: maybe
it is not the rows that take the time."""
PROBE_AGAIN = 30
"""Batches until it is tried anew."""
CATCH_UP_SECONDS, CATCH_UP_PART = 20.0, 8
"""While a freshness goal is missed, a batch may take this part of the backlog, for at most so long: many short batches
would spend their time on overhead, and the backlog would live on."""


@dataclass(frozen=True)
class Goal:
    """What is to be held."""

    seconds: float
    """How long a batch should take."""
    max_rows: int
    freshness: float | None = None
    """The age that is to be held; `seconds` follows from it."""
    every: float = 0.0
    """Seconds from the start of one batch to that of the next, at least."""


@dataclass(frozen=True)
class Learned:
    """What the batches so far have taught."""

    limit: int
    rate: float | None = None
    """Rows a second, beyond the fixed cost."""
    fixed: float = 0.0
    """Seconds of a batch, however few rows it has."""
    arriving: float | None = None
    """Rows a second that producers send, smoothed."""
    last: tuple[int, float] | None = None
    """Rows and seconds of the last batch that its limit cut off."""
    cold: bool = True
    """Whether no batch of this process was seen yet: the first one pays for the start of workers and compiler."""
    held: int = 0
    """Batches in a row that left the limit as it is; below 0 after a probe."""

    def seconds_for(self, rows: int) -> float:
        return self.fixed + rows / self.rate if self.rate else self.fixed


@dataclass(frozen=True)
class Observation:
    """A batch that was done."""

    rows: int
    seconds: float
    """From the moment it was planned until the next one can be."""
    limit: int
    """That it was planned with."""
    backlog: int | None = None
    """Rows that it left behind, as of its planning."""
    arriving: float | None = None
    """Rows a second that came in since the batch before."""


@dataclass(frozen=True)
class Decision:
    """How large the next batch may be, and why."""

    limit: int
    reason: str
    caught_up_in: float | None = None
    """Seconds until nothing is left behind; None if that is not known, or never at this rate."""
    behind: bool = False
    """Whether rows are left that this limit does not cover."""


def first(goal: Goal) -> Learned:
    """Before anything is known."""
    return Learned(limit=min(goal.max_rows, FIRST_ROWS))


def resumed(goal: Goal, known: Learned) -> Learned:
    """What an earlier run learned, taken carefully: half of it, because the new process is cold."""
    if not known.rate:
        return first(goal)
    limit = _bounded(goal, min(known.limit, _wanted(goal, known, None)) // 2)
    return Learned(limit=limit, rate=known.rate, fixed=known.fixed, last=None)


def decide(goal: Goal, known: Learned, seen: Observation) -> tuple[Learned, Decision]:
    """What is known now, and how large the next batch may be."""
    arriving = _smooth(known.arriving, seen.arriving)
    if seen.rows <= 0:
        known = replace(known, arriving=arriving)
        return known, _decision(goal, known, seen, "nothing came")
    if known.cold and seen.rows < FULL * seen.limit:
        known = replace(known, arriving=arriving, cold=False)
        return known, _decision(goal, known, seen, "the first batch pays for the start: it says little")
    was_cold = known.cold
    known = replace(_learn(goal, known, seen), arriving=arriving, cold=False)
    limit, reason = _next(goal, known, seen)
    if was_cold and limit < known.limit:
        limit = max(limit, known.limit // COLD_PART)
    known, limit, reason = _probed(goal, known, seen, limit, reason)
    return replace(known, limit=limit), _decision(goal, replace(known, limit=limit), seen, reason)


def _probed(goal: Goal, known: Learned, seen: Observation, limit: int, reason: str) -> tuple[Learned, int, str]:
    """A larger limit, now and then, where this one does not keep up with what comes in."""
    held = known.held + 1 if limit == known.limit else min(known.held, 0)
    losing = seen.rows >= FULL * seen.limit and (seen.backlog or 0) > 0
    losing = losing and _until_caught_up(goal, known, seen.backlog or 0) is None
    more = _bounded(goal, int(known.limit * PROBE_TIMES))
    if held < PROBE_AFTER or not losing or more == known.limit:
        return replace(known, held=held), limit, reason
    told = f"it does not keep up with {known.arriving or 0:,.0f} rows a second: tried with more at once"
    return replace(known, held=-PROBE_AGAIN), more, told


def _learn(goal: Goal, known: Learned, seen: Observation) -> Learned:
    """Cost per row from batches that were cut off or too long; the fixed cost from small ones, and from two sizes."""
    rows, seconds = seen.rows, max(seen.seconds, 0.001)
    cut_off = rows >= FULL * seen.limit
    if known.rate is None:
        return replace(known, rate=rows / seconds, last=(rows, seconds) if cut_off else None)
    if not cut_off and seconds <= goal.seconds:
        rate = max(known.rate, rows / seconds)
        return replace(known, rate=rate, fixed=known.fixed + 0.3 * (max(0.0, seconds - rows / rate) - known.fixed))
    fixed = _fixed_by_two_sizes(goal, known, rows, seconds) if cut_off else known.fixed
    found = rows / max(seconds - fixed, 0.1 * seconds)
    rate = known.rate + _trust(goal, known, rows, seconds) * (found - known.rate)
    return replace(known, rate=rate, fixed=fixed, last=(rows, seconds) if cut_off else known.last)


def _trust(goal: Goal, known: Learned, rows: int, seconds: float) -> float:
    """How much of what a batch says is believed.

    All of an alarm, and all where it was twice as fast as was thought: then a cold start was measured before. Little of
    what is near the target anyway.
    """
    expected = known.seconds_for(rows)
    if seconds > ALARM * max(goal.seconds, expected) or 2 * seconds < expected:
        return 1.0
    return 0.3 if CALM[0] * goal.seconds <= seconds <= ALARM * goal.seconds else 0.5


def _fixed_by_two_sizes(goal: Goal, known: Learned, rows: int, seconds: float) -> float:
    """Fewer rows that took as long, or many more that took little longer: then it is not the rows that take the time.

    Batches that get shorter as they grow say nothing: they get warm.
    """
    if known.last is None or (0.8 < rows / known.last[0] < 1.25):
        return known.fixed
    if rows > known.last[0] and seconds <= CALM[0] * goal.seconds:
        return known.fixed
    per_row = max(0.0, (known.last[1] - seconds) / (known.last[0] - rows))
    found = max(0.0, seconds - rows * per_row)
    return known.fixed + 0.5 * (found - known.fixed)


def _next(goal: Goal, known: Learned, seen: Observation) -> tuple[int, str]:
    """The next limit, and the reason for it in words."""
    aim = _seconds(goal, known, seen.backlog)
    wanted = _bounded(goal, _wanted(goal, known, seen.backlog))
    told = f"{seen.rows:,} rows took {seen.seconds:.3g} s, and {aim:.3g} s is the target"
    cut_off = seen.rows >= FULL * seen.limit
    share = known.seconds_for(known.limit) / aim
    if cut_off and seen.seconds > aim and known.fixed > 0.4 * seen.seconds:
        more = _bounded(goal, 2 * known.limit) if seen.seconds > WORTH * known.fixed * CALM[0] else known.limit
        return more, f"a batch takes {known.fixed:.3g} s however few rows it has, so small ones do not help: {told}"
    if seen.seconds > CALM[1] * aim and wanted < known.limit and share > CALM[1]:
        return wanted, f"too long: {told}"
    if not cut_off:
        return known.limit, "the limit is not what holds the batch back"
    if share >= CALM[0] or wanted <= known.limit:
        return known.limit, f"near the target: {told}" if share >= CALM[0] else f"within the target: {told}"
    step = next((times for most, times in STEPS if seen.seconds <= most * aim), 1.0)
    return min(wanted, _bounded(goal, int(known.limit * step))), f"short, and more waits: {told}"


def _seconds(goal: Goal, known: Learned, backlog: int | None) -> float:
    """How long a batch may take now: longer where its fixed cost asks for it, or while freshness is to be regained."""
    least = max(goal.seconds, WORTH * known.fixed)
    if goal.freshness is None or not known.rate or backlog is None:
        return least
    return max(least, min(CATCH_UP_SECONDS, backlog / known.rate / CATCH_UP_PART))


def _wanted(goal: Goal, known: Learned, backlog: int | None) -> int:
    aim = _seconds(goal, known, backlog)
    return int((AIM * aim - known.fixed) * known.rate) if known.rate else known.limit


def _bounded(goal: Goal, rows: int) -> int:
    return max(1, min(goal.max_rows, max(LEAST_ROWS, rows)))


def _decision(goal: Goal, known: Learned, seen: Observation, reason: str) -> Decision:
    backlog = seen.backlog or 0
    if backlog <= 0:
        return Decision(known.limit, reason, caught_up_in=0.0 if seen.backlog is not None else None)
    return Decision(known.limit, reason, _until_caught_up(goal, known, backlog), behind=backlog > known.limit)


def _until_caught_up(goal: Goal, known: Learned, backlog: int) -> float | None:
    """Seconds, if batches go on as they are and producers too."""
    lasts = max(known.seconds_for(known.limit), goal.every)
    if not known.rate or lasts <= 0:
        return None
    gain = known.limit / lasts - (known.arriving or 0.0)
    return backlog / gain if gain > 0 else None


def _smooth(before: float | None, now: float | None) -> float | None:
    if now is None or before is None:
        return now if before is None else before
    return before + 0.3 * (now - before)
