"""The retention runway: how long until the broker deletes what has not been read, at the present pace.

A topic keeps records for a time, up to a size, or both. By time: the edge of what is deleted moves on by a second a
second; the reader moves on in the same time by as much as it works off. By size: the edge moves on as records come.
What is worked out here is the earliest moment: the broker deletes whole segments, and so often later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.observe.lag import Runway
from penstock.unread import Retention

STANDING = 0.02
"""Below this share of its pace a reader counts as keeping up: what is measured is never quite exact."""


@dataclass(frozen=True)
class Chase:
    """A reader and the edge behind it, in one partition."""

    position: int
    start: int
    """The first offset that is there."""
    end: int
    waited_seconds: float | None
    """How long ago, by the broker's reckoning, the next unread record was written; None if nobody knows."""
    slipping: float | None
    """By how many seconds that grows each second: 0 keeps up, 1 stands still. None if nobody knows."""
    arrival_per_second: float | None
    read_per_second: float | None
    bytes_per_offset: float | None


def runway(keeps: Retention, chase: Chase) -> Runway:
    """How long the next unread record is safe."""
    made = Runway(keeps.seconds, keeps.bytes)
    if chase.position >= chase.end:
        return made
    ways: list[tuple[float, float | None, Literal["time", "size"]]] = []
    if keeps.seconds is not None and chase.waited_seconds is not None:
        slack = max(0.0, keeps.seconds - chase.waited_seconds)
        ways.append((slack, _by_time(slack, chase.slipping), "time"))
    if keeps.bytes is not None and (capacity := _capacity(keeps, chase)) is not None:
        ways.append(_by_size(capacity, chase))
    if not ways:
        return made
    slack, _, by = min(ways, key=lambda way: way[0])
    sure = [(seconds, by) for _, seconds, by in ways if seconds is not None]
    seconds, by = min(sure) if sure else (None, by)
    return Runway(keeps.seconds, keeps.bytes, _tidy(slack), _tidy(seconds), by)


def _by_time(slack: float, slipping: float | None) -> float | None:
    if slack == 0.0:
        return 0.0
    if slipping is None:
        return slack  # nobody knows the pace: as if it stood still
    return None if slipping <= STANDING else slack / min(1.0, slipping)


def _capacity(keeps: Retention, chase: Chase) -> float | None:
    """Offsets that fit into the topic's size.

    Records are compressed on disk, and their size there is not told. What the partition holds now shows that at least
    as much fits, but for the segment that is being written.
    """
    held = chase.end - chase.start
    if chase.bytes_per_offset is None or keeps.bytes is None:
        return None
    sure = held * keeps.bytes / (keeps.bytes + (keeps.segment_bytes or 0)) if chase.start > 0 else held
    return max(keeps.bytes / max(1.0, chase.bytes_per_offset), sure)


def _by_size(capacity: float, chase: Chase) -> tuple[float, float | None, Literal["time", "size"]]:
    room = max(0.0, capacity - (chase.end - chase.position))
    arrival, read = chase.arrival_per_second, chase.read_per_second
    if not arrival:
        return float("inf"), None, "size"
    if read is None:
        return room / arrival, room / arrival, "size"
    gains = arrival - read
    return room / arrival, None if gains <= STANDING * arrival else room / gains, "size"


def _tidy(seconds: float | None) -> float | None:
    return None if seconds is None or seconds == float("inf") else round(seconds, 3)
