"""The meter: asks a cluster how far its topics are, and gives what the tracker needs. Cheap enough for every poll.

One request for the ends of all partitions; now and then one for their starts, one for what open transactions hold back
and one for the topics' settings; and a short look into some partitions that have unread records.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.errors import Unavailable
from penstock.observe.lag import Lag
from penstock.observe.tracker import Measure, Tracker
from penstock.ranges import Positions
from penstock.sources.cluster import Cluster
from penstock.sources.groups import committed
from penstock.sources.keeping import keeping
from penstock.sources.probing import ALL_AT_ONCE, Prober
from penstock.unread import Part, Retention

BOUNDS_SECONDS = 60.0
"""Starts, and what transactions hold back, are asked for so often at most."""
SETTINGS_SECONDS = 600.0
DENSE = 0.999
"""Share of offsets that are records, above which counting tells nothing new."""


@dataclass
class Meter:
    """Measures the lag of one reader of one cluster, over and over."""

    cluster: Cluster
    group: str | None = None
    """The Kafka group that shows the reader's progress, if it is to be compared."""
    tracker: Tracker = field(default_factory=Tracker)
    bounds_seconds: float = BOUNDS_SECONDS
    at_once: int = ALL_AT_ONCE
    """Unread records that one poll may count, over all partitions; the next goes on from there."""

    def __post_init__(self) -> None:
        self.prober = Prober(self.cluster, at_once=self.at_once)
        self._starts: Positions = {}
        self._held: Positions = {}
        self._bounds_at = self._settings_at = -float("inf")
        self._retention: dict[str, Retention] = {}
        self._unknown = ""

    def measure(
        self,
        partitions: Iterable[Part],
        positions: Positions,
        spark: Mapping[Part, int] | None = None,
        planned: Positions | None = None,
    ) -> Lag:
        """The lag of these partitions, for a reader that stands at these positions. Raises Unavailable.

        `spark` is the lag as Spark reports it; where nobody heard that, `planned` is where its newest batch ends.
        """
        parts = sorted(partitions)
        ends = self.cluster.latest(parts)
        now = time.time()
        self._bounds(parts, positions, ends)
        self._settings({topic for topic, _ in parts})
        stands = {part: max(positions.get(part, 0), self._starts.get(part, 0)) for part in parts}
        group, trouble = self._group(parts)
        measure = Measure(
            at=now,
            positions={part: positions.get(part, self._starts.get(part, 0)) for part in parts},
            ends=ends,
            starts=self._starts,
            high={part: ends[part] + self._held.get(part, 0) for part in parts},
            probes=dict(self.prober.look(stands, ends, self._dense(parts))),
            retention=self._retention,
            spark=spark or {part: max(0, ends[part] - at) for part, at in (planned or {}).items() if part in ends},
            group=group,
            unknown=tuple(each for each in (self._unknown, trouble) if each),
        )
        return self.tracker.see(measure)

    def close(self) -> None:
        self.prober.close()

    def _bounds(self, parts: list[Part], positions: Positions, ends: Positions) -> None:
        """Starts of partitions, and what open transactions hold back: seldom, unless a partition is new."""
        new = any(part not in self._starts for part in parts)
        if not new and time.monotonic() - self._bounds_at < self.bounds_seconds:
            return
        self._bounds_at = time.monotonic()
        self._starts = self.cluster.earliest(parts)
        if self.cluster.isolation == "committed":
            high = self.cluster.latest(parts, "uncommitted")
            self._held = {part: max(0, high[part] - ends[part]) for part in parts}

    def _settings(self, topics: set[str]) -> None:
        if topics <= set(self._retention) and time.monotonic() - self._settings_at < SETTINGS_SECONDS:
            return
        if not self._unknown or time.monotonic() - self._settings_at >= SETTINGS_SECONDS:
            self._settings_at = time.monotonic()
            self._retention, self._unknown = keeping(self.cluster, topics)

    def _dense(self, parts: list[Part]) -> list[Part]:
        """Partitions whose every offset holds a record, as far as batches have told."""
        return [
            part
            for part in parts
            if (self.tracker.density(part) or 0.0) > DENSE
            and not (part[0] in self._retention and self._retention[part[0]].compacted)
        ]

    def _group(self, parts: list[Part]) -> tuple[Positions, str]:
        if self.group is None:
            return {}, ""
        try:
            return committed(self.cluster, self.group, parts), ""
        except Unavailable as error:
            return {}, error.what
