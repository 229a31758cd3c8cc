"""The patient: everything that can be read of a pipeline, or of any Spark job, each part when it is asked for, once.

Nothing is written, and no JVM is started. A part that cannot be had is none, and `unseen` says why: that may be a
diagnosis of its own.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from penstock import files
from penstock.errors import PenstockError
from penstock.ledger.lease import holder
from penstock.ledger.ledger import Ledger
from penstock.ledger.records import Intent, Outcome
from penstock.observe import gaps, history
from penstock.observe import now as present
from penstock.observe.lag import Lag
from penstock.observe.metrics_kept import Usual
from penstock.observe.now import Now
from penstock.operate.doctor import course, reach, tables
from penstock.operate.doctor.course import Course
from penstock.operate.doctor.reach import Newest, Reach, Settings
from penstock.operate.doctor.tables import TableLook
from penstock.operate.foreign import Foreign, look
from penstock.operate.lagging import OfCheckpoint, OfPipeline
from penstock.sources.kafka import Cluster
from penstock.triggers import RealTime

if TYPE_CHECKING:
    from penstock.pipeline import Pipeline

Seen = TypeVar("Seen")
STRANGE = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""What reading a file raises that holds something else than it should, or that may not be read."""
PAST_SECONDS = 86_400.0
MOST_PARTITIONS = 64
"""Partitions whose newest record is looked at."""


class Disk(NamedTuple):
    """A file system that something of the pipeline lies on."""

    path: str
    what: str
    free: int
    size: int


@dataclass
class Patient:
    """One pipeline of ours (`pipeline`, or its `state` alone), or a checkpoint of any job."""

    name: str
    file: str = ""
    """How the pipeline file is named in a command; empty where there is none."""
    pipeline: Pipeline | None = None
    state: Path | None = None
    """The state folder of a pipeline of ours, if it lies on this machine."""
    workplace: Path | None = None
    """Where its progress lies."""
    checkpoint: Path | None = None
    brokers: Callable[[], str] | None = None
    """Gives the addresses of the brokers, or raises why there are none; None where nobody named any."""
    table_paths: Mapping[str, str] = field(default_factory=dict)
    committed_only: bool = False
    """Of a foreign job: whether it reads committed records only."""
    at: float = field(default_factory=time.time)
    seen: list[str] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)
    """What could not be looked at -> why."""

    @property
    def ours(self) -> bool:
        return self.workplace is not None

    # who runs it, and what that process tells

    @cached_property
    def holder(self) -> dict[str, Any] | None:
        """The process that runs it now."""
        state = self.state
        return None if state is None else self.attempt("lease", lambda: holder(state / "lease"))

    @property
    def running(self) -> bool | None:
        """None: nobody can tell."""
        return self.holder is not None if self.state is not None else None

    @cached_property
    def now(self) -> Now | None:
        """How it was when its process last told."""
        where = self.workplace
        return None if where is None else self.attempt("now.json", lambda: present.read(where))

    @property
    def fresh(self) -> bool:
        """Does a process run, and has it told lately how it is?"""
        now = self.now
        return bool(self.running) and now is not None and now.age(self.at) < 3 * now.poll_seconds + 5

    @cached_property
    def past(self) -> list[dict[str, Any]]:
        """Batches of the newest day that is kept."""
        return self._kept("batches")

    @cached_property
    def lags(self) -> list[dict[str, Any]]:
        """Lags of the same time, over all topics."""
        return [row for row in self._kept("lags") if not row["topic"]]

    def _kept(self, kind: history.Kind) -> list[dict[str, Any]]:
        where = self.workplace
        if where is None:
            return []
        rows = self.attempt("history", lambda: history.read(where, kind, self.at - 30 * PAST_SECONDS).to_pylist()) or []
        newest = max((row["at"].timestamp() for row in rows), default=0.0)
        return [row for row in rows if row["at"].timestamp() > newest - PAST_SECONDS]

    @cached_property
    def course(self) -> Course | None:
        """How its batches went lately."""
        if self.ours:
            return course.of_history(self.past)
        found = self.foreign
        return None if found is None else self.attempt("batches", lambda: course.of_checkpoint(found))

    @cached_property
    def usual(self) -> Usual:
        """What its file says of the length of batches."""
        if self.pipeline is None:
            return Usual()
        from penstock.observe.alerts import usual_of

        return usual_of(self.pipeline)

    # what it remembers

    @cached_property
    def ledger(self) -> Ledger | None:
        state = self.state
        return None if state is None else self.attempt("ledger", lambda: Ledger.find(state, self.name))

    @cached_property
    def last(self) -> Outcome | None:
        """The newest batch that is done."""
        ledger = self.ledger
        return None if ledger is None else self.attempt("outcomes", ledger.last_outcome)

    @cached_property
    def unfinished(self) -> tuple[Intent, bool] | None:
        """The batch that was begun and has no outcome, and whether it is frozen."""
        ledger, last = self.ledger, self.last
        intent = None if ledger is None else self.attempt("intents", ledger.last_intent)
        if ledger is None or intent is None or (last is not None and intent.batch_id <= last.batch_id):
            return None
        if "outcomes" in self.unseen:
            return None  # its outcome may be the one that cannot be read
        return intent, self.attempt("manifest", lambda: ledger.manifest(intent)) is not None

    @cached_property
    def generation(self) -> dict[str, Any] | None:
        """Who the ledger says this is."""
        path = None if self.ledger is None else self.ledger.folder / "generation.json"
        return None if path is None else self.attempt("generation", lambda: files.read_json(path))

    @cached_property
    def foreign(self) -> Foreign | None:
        """Spark's checkpoint, as of any job."""
        folder = self.checkpoint or (self.state / "spark" if self.state is not None else None)
        if folder is None or (self.state is not None and not folder.exists()):
            return None
        return self.attempt("checkpoint", lambda: look(folder))

    @cached_property
    def gaps(self) -> list[dict[str, Any]]:
        """Ranges that it went on without."""
        where = self.workplace
        return [] if where is None else self.attempt("gaps", lambda: gaps.read(where).to_pylist()) or []

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
        sinks = (sink.to for sink in self.pipeline.sinks.values() if hasattr(sink.to, "topic_from"))
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
        return {name: sink for name, sink in sinks if hasattr(sink.to, "topic_from") and sink.to.brokers in own}

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

    def attempt(self, what: str, read: Callable[[], Seen | None]) -> Seen | None:
        """What is read, or nothing; then `unseen` says why."""
        from confluent_kafka import KafkaException

        try:
            found = read()
        except (PenstockError, *STRANGE) as error:
            self.unseen[what] = error.what if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
            return None
        except KafkaException as error:
            self.unseen[what] = str(error.args[0].str())
            return None
        if found is not None and what not in self.seen:
            self.seen.append(what)
        return found


def _nearest(place: Path | None) -> Path | None:
    """This folder, or the nearest above it that is there."""
    while place is not None and not place.exists():
        place = None if place == place.parent else place.parent
    return place
