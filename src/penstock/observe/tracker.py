"""The tracker: what was measured at each poll, put together with what was measured before, gives the lag.

It knows no broker. Whoever measures hands it a `Measure`; it keeps the past that rates and trends are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import overload

from penstock.observe.lag import Lag, PartitionLag, TopicLag, catch_up, together
from penstock.observe.runway import Chase, runway
from penstock.observe.samples import Samples
from penstock.observe.trend import Course, Look
from penstock.ranges import Positions, Range
from penstock.tally import Tally
from penstock.unread import Part, Probe, Retention

WINDOW_SECONDS = 300.0
"""Rates are those of the last so many seconds."""
HOT = 3.0
"""A partition is hot if it carries so many times what its neighbours do."""
LEAST_HOT = 1000
"""Rows that make no partition hot."""


@dataclass(frozen=True)
class Measure:
    """What was learned from a broker at one moment."""

    at: float
    positions: Positions
    """Where the reader stands."""
    ends: Positions
    starts: Positions = field(default_factory=dict)
    high: Positions = field(default_factory=dict)
    """The ends with what open transactions hold back."""
    probes: Mapping[Part, Probe] = field(default_factory=dict)
    retention: Mapping[str, Retention] = field(default_factory=dict)
    spark: Mapping[Part, int] = field(default_factory=dict)
    """Lag as Spark says."""
    group: Positions = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


class Tracker:
    """One reader's lag over time."""

    def __init__(self, window: float = WINDOW_SECONDS) -> None:
        self.window = window
        self._samples: dict[Part, Samples] = {}
        self._courses: dict[str, Course] = {}
        self._density: dict[Part, float] = {}
        self._bytes: dict[Part, float] = {}

    def learn(self, ranges: Iterable[Range], tally: Tally) -> None:
        """What share of the offsets of a batch were records: the rest were markers, aborted or compacted."""
        for part in ranges:
            if len(part) > 0:
                seen = tally.of(part.topic, part.partition).seen / len(part)
                last = self._density.get((part.topic, part.partition), seen)
                self._density[part.topic, part.partition] = min(1.0, (last + seen) / 2)

    def density(self, part: Part) -> float | None:
        """The share of offsets that are records, if any batch has told it."""
        return self._density.get(part)

    def arrived(self, part: Part, offset: int) -> float | None:
        """About when this offset came to the broker, if anybody watched."""
        return self._samples[part].arrived(offset) if part in self._samples else None

    def bytes_per_offset(self, part: Part) -> float | None:
        """The size of a record, key and value, as last seen."""
        return self._bytes.get(part)

    def see(self, measure: Measure) -> Lag:
        """The lag at this moment."""
        topics: dict[str, list[PartitionLag]] = {}
        for part in sorted(measure.ends):
            topics.setdefault(part[0], []).append(self._partition(part, measure))
        warm = {name: with_hot(parts) for name, parts in topics.items()}
        every = [part for parts in warm.values() for part in parts]
        made = tuple(self._topic(name, parts, measure.at) for name, parts in warm.items())
        return Lag(measure.at, tuple(every), made, self._topic("", every, measure.at), measure.unknown)

    def _topic(self, name: str, parts: list[PartitionLag], at: float) -> TopicLag:
        course = self._courses.setdefault(name, Course())
        ends, positions = sum(part.end for part in parts), sum(part.position for part in parts)
        course.add(Look(at, ends, positions, sum(part.rows for part in parts)))
        return together(name, parts, course.trend())

    def _partition(self, part: Part, measure: Measure) -> PartitionLag:
        end, start = measure.ends[part], measure.starts.get(part)
        position = measure.positions.get(part, start or 0)
        past = self._samples.setdefault(part, Samples())
        past.add(measure.at, end, position)
        offsets, lost = max(0, end - position), max(0, min(start or 0, end) - position)
        probe = measure.probes.get(part)
        if probe is not None and probe.counted:
            self._bytes[part] = probe.bytes / probe.counted
        rows, estimated = self._rows(part, max(position, start or 0), end, probe)
        arrival, read = _tidy(past.arriving(self.window)), _tidy(past.reading(self.window))
        waiting, age = self._waits(past, probe, position, rows, measure.at)
        made = PartitionLag(
            topic=part[0],
            partition=part[1],
            position=position,
            end=end,
            start=start,
            offsets=offsets,
            rows=rows,
            estimated=estimated,
            lost=lost,
            held=max(0, measure.high.get(part, end) - end),
            age_seconds=age,
            waiting_seconds=waiting,
            arrival_per_second=arrival,
            read_per_second=read,
            catch_up_seconds=catch_up(rows, offsets, arrival, read),
            spark_offsets=measure.spark.get(part),
            group_position=measure.group.get(part),
        )
        keeps = measure.retention.get(part[0])
        return made if keeps is None else replace(made, runway=runway(keeps, self._chase(made)))

    def _rows(self, part: Part, position: int, end: int, probe: Probe | None) -> tuple[int, bool]:
        """Records between these offsets, and whether that is an estimate."""
        density = self._density.get(part, 1.0)
        if end <= position:
            return 0, False
        if probe is None or probe.position < position:
            return max(1, round((end - position) * density)), density < 1.0
        beyond = max(0, end - probe.upto)
        if probe.counted:
            density = min(density, probe.counted / (probe.upto - probe.position))
        more = max(1, round(beyond * density)) if beyond else 0
        return probe.counted + more, beyond > 0 and density < 1.0

    def _waits(
        self, past: Samples, probe: Probe | None, position: int, rows: int, at: float
    ) -> tuple[float | None, float | None]:
        if rows == 0:
            return 0.0, 0.0
        known = probe if probe is not None and probe.position >= position else None
        unread = known.first if known is not None and known.first is not None else position
        came = past.arrived(unread)
        age = None if known is None or known.timestamp is None else _tidy(at - known.timestamp)
        return None if came is None else _tidy(at - came), age

    def _chase(self, lag: PartitionLag) -> Chase:
        waited = lag.age_seconds if lag.age_seconds is not None else lag.waiting_seconds
        arrival, read = lag.arrival_per_second, lag.read_per_second
        slipping = None
        if arrival is not None and read is not None:
            # in steady flow a reader that works off a share of what comes falls back by the rest of each second
            slipping = max(0.0, 1.0 - read / arrival) if arrival > 0 else (0.0 if read > 0 else 1.0)
        return Chase(
            position=lag.position,
            start=lag.start or 0,
            end=lag.end,
            waited_seconds=waited,
            slipping=slipping,
            arrival_per_second=arrival,
            read_per_second=read,
            bytes_per_offset=self._bytes.get((lag.topic, lag.partition)),
        )


def with_hot(parts: list[PartitionLag]) -> list[PartitionLag]:
    """Marks the partitions of a topic that carry far more unread rows than their neighbours."""
    if len(parts) < 2:
        return parts
    rows = [part.rows for part in parts]
    usual = median(rows) if len(parts) > 2 else min(rows)
    bar = max(HOT * usual, LEAST_HOT)
    return [replace(part, hot=True) if part.rows > bar else part for part in parts]


@overload
def _tidy(value: float) -> float: ...
@overload
def _tidy(value: float | None) -> float | None: ...
def _tidy(value: float | None) -> float | None:
    """Not less than nothing, and no more digits than mean anything."""
    return None if value is None else round(max(0.0, value), 3)
