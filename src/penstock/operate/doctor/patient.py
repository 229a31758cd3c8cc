"""The patient: everything that can be read of a pipeline, or of any Spark job, each part when it is asked for, once.

Nothing is written, and no JVM is started. A part that cannot be had is none, and `unseen` says why: that may be a
diagnosis of its own.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from penstock.observe.lag import Lag
from penstock.operate.doctor import reach, tables
from penstock.operate.doctor.kept import Kept
from penstock.operate.doctor.reach import Newest, Reach, Settings
from penstock.operate.doctor.tables import TableLook
from penstock.operate.lagging import OfCheckpoint, OfPipeline
from penstock.sinks.kafka import Topic
from penstock.sources.cluster import Cluster
from penstock.triggers import RealTime

MOST_PARTITIONS = 64
"""Partitions whose newest record is looked at."""


class Disk(NamedTuple):
    """A file system that something of the pipeline lies on."""

    path: str
    what: str
    free: int
    size: int


@dataclass
class Patient(Kept):
    """What it keeps, and what lies outside: brokers, tables, disks."""

    # what the broker says

    @cached_property
    def reach(self) -> Reach | None:
        """What came of knocking at the brokers; None where none are named, or none can be."""
        brokers = self.brokers
        bootstrap = None if brokers is None else self.attempt("brokers", brokers)
        if bootstrap is None:
            if brokers is None:
                self.unseen["brokers"] = "nobody said where they are: --brokers HOST:PORT"
            return None
        found = reach.knock(bootstrap)
        if found.trouble:
            self.unseen["brokers"] = found.said
        return found

    @cached_property
    def sink_reaches(self) -> list[Reach]:
        """The same at other brokers that it writes to."""
        if self.pipeline is None:
            return []
        sinks = (sink.to for sink in self.pipeline.sinks.values() if isinstance(sink.to, Topic))
        own = (None, "dev", self.pipeline.source.brokers)
        return [
            reach.knock(each) for each in dict.fromkeys(",".join(to.brokers) for to in sinks if to.brokers not in own)
        ]

    @cached_property
    def cluster(self) -> Cluster | None:
        """The cluster, if it answers."""
        found = self.reach
        if found is None or found.trouble:
            return None
        source = self.pipeline.source.isolation if self.pipeline else None
        return Cluster(found.bootstrap, source or ("committed" if self.committed_only else "uncommitted"))

    @cached_property
    def topics(self) -> list[str]:
        """The topics that it reads."""
        source = self.pipeline.source if self.pipeline else None
        if source is not None and source.pattern is None:
            return sorted([*(source.topics or ()), *(source.partitions or ())])
        known = {part.topic for part in self.last.ranges} if self.last else set()
        return sorted(known | ({topic for topic, _ in self.foreign.positions} if self.foreign else set()))

    @cached_property
    def lag(self) -> Lag | None:
        """How far behind it is now; where it cannot be measured, as the running process has just told."""
        measured = None if self.cluster is None else self.attempt("lag", self._measured)
        told = self.now.lag if measured is None and self.now is not None and self.fresh else None
        return told if measured is None else measured

    def _measured(self) -> Lag | None:
        assert self.cluster is not None
        real_time = self.pipeline is not None and isinstance(self.pipeline.trigger, RealTime)  # it has no ledger
        if self.pipeline is not None and self.state is not None and not real_time:
            of: OfPipeline | OfCheckpoint = OfPipeline(self.pipeline, self.state, self.cluster.bootstrap)
        else:
            folder = self.checkpoint or (self.state / "spark" if self.state else None)
            if folder is None or not folder.exists():
                return None
            of = OfCheckpoint(folder, self.cluster.bootstrap, self.cluster.isolation == "committed")
        try:
            return of.measure().lag
        finally:
            of.close()

    @cached_property
    def settings(self) -> Settings | None:
        """Settings of the topics that are read and written, and of a broker."""
        cluster = self.cluster
        if cluster is None:
            return None
        wanted = [name for name in (*self.topics, *self.written_topics) if self.reach and name in self.reach.topics]
        return self.attempt("settings", lambda: reach.settings_of(cluster, wanted))

    @cached_property
    def written_topics(self) -> list[str]:
        """Topics that it writes to, on the source's cluster, as far as the file names them."""
        if self.pipeline is None:
            return []
        return [sink.to.topic for sink in self.kafka_sinks.values() if sink.to.topic is not None]

    @cached_property
    def kafka_sinks(self) -> dict[str, Any]:
        """Sinks that write topics on the source's own brokers."""
        if self.pipeline is None:
            return {}
        own = (None, "dev", self.pipeline.source.brokers)
        sinks = self.pipeline.sinks.items()
        return {name: sink for name, sink in sinks if isinstance(sink.to, Topic) and sink.to.brokers in own}

    @cached_property
    def newest(self) -> list[Newest]:
        """The newest record of each partition, of some of them at least."""
        cluster, lag = self.cluster, self.lag
        if cluster is None or lag is None:
            return []
        ends = {(part.topic, part.partition): part.end for part in lag.partitions if part.end > (part.start or 0)}
        some = dict(sorted(ends.items())[:MOST_PARTITIONS])
        return self.attempt("newest records", lambda: reach.newest_records(cluster, some)) or []

    # where it writes

    @cached_property
    def tables(self) -> dict[str, TableLook]:
        """Its tables, as far as they can be read."""
        query = self.foreign.query_id if self.foreign is not None and not self.ours else None
        found = {}
        for name, path in self.table_paths.items():
            if self.ours and "://" not in path and not Path(path).exists() and not self._was_written(name):
                continue  # the first batch will make it
            seen = self.attempt(f"table {name}", lambda path=path, name=name: tables.look_at(name, path, query))  # type: ignore[misc]
            if seen is not None:
                found[name] = seen
        return found

    def _was_written(self, name: str) -> bool:
        return self.last is not None and name in self.last.last_written

    @cached_property
    def disks(self) -> list[Disk]:
        """The file systems that state and tables lie on, each once."""
        places = {"the state": self.workplace or self.checkpoint}
        places |= {f"table {name}": Path(path) for name, path in self.table_paths.items() if "://" not in path}
        found: dict[int, Disk] = {}
        for what, place in places.items():
            there = _nearest(place)
            if there is not None:
                usage = shutil.disk_usage(there)
                found.setdefault(there.stat().st_dev, Disk(str(there), what, usage.free, usage.total))
        return list(found.values())


def _nearest(place: Path | None) -> Path | None:
    """This folder, or the nearest above it that is there."""
    while place is not None and not place.exists():
        place = None if place == place.parent else place.parent
    return place
