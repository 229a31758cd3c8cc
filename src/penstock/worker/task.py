"""What one task of a batch does in the Python worker: take rows in, put them through Arrow stages, hand them on.

Adjacent Arrow stages are fused: where no Spark stage stands between decode and write, a record crosses from the JVM
once and never goes back. What then returns to the driver is one small report a task: the files that were written and
the fate of every record. Nothing that a task does is visible yet.
"""

from __future__ import annotations

import gc
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, reduce
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.rows import Mask, Rows
from penstock.sinks.contract import FrozenFile, Target
from penstock.tally import Tally
from penstock.worker.crossing import to_form
from penstock.worker.desk import Desk
from penstock.worker.intake import Intake
from penstock.worker.letters import Sender

REPORT = pa.schema([pa.field("report", pa.string())])
"""The columns of what a task returns at the end of a pass."""


class ArrowStage(Protocol):
    """A stage that runs in the worker."""

    def over(self, rows: Rows) -> Rows: ...


class Exit(Protocol):
    """What becomes of the rows behind the last stage of a segment."""

    def open(self, tag: str) -> Open: ...


class Open(Protocol):
    """An exit at work in one task."""

    def take(self, rows: Rows) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class Work:
    """One segment of Arrow stages, as `mapInArrow` runs it. Small and picklable; it travels to the executors."""

    batch_id: int
    intake: Intake
    stages: tuple[ArrowStage, ...]
    exit: Exit

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        task = f"{context.partitionId():05d}-{context.attemptNumber()}" if context else "00000-0"
        yield from self.run(batches, task)
        _settle()

    def run(self, batches: Iterable[pa.RecordBatch], task: str) -> Iterator[pa.RecordBatch]:
        pa.set_cpu_count(1)  # the task has one core; Arrow's pool would take the other tasks'
        end = self.exit.open(f"{self.batch_id:08d}-{task}")
        for rows in self.intake.rows(batches):
            stages = self.stages if len(rows) else ()
            yield from end.take(reduce(lambda so_far, stage: stage.over(so_far), stages, rows))
        yield from end.close()


@dataclass(frozen=True)
class ToSpark:
    """The rows go on into a Spark stage."""

    def open(self, tag: str) -> ToSpark:
        return self

    def take(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        if len(rows):
            yield to_form(rows)

    def close(self) -> Iterator[pa.RecordBatch]:
        yield from ()


@dataclass(frozen=True)
class ToSinks:
    """The end of a pass: the rows are written, and a report goes to the driver."""

    sender: Sender
    targets: dict[str, Target]
    letters: dict[str, Target]

    def open(self, tag: str) -> _Sinks:
        return _Sinks(Desk(self.sender, self.targets, self.letters, tag))


class _Sinks:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def take(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        self.desk.take(rows)
        yield from ()

    def close(self) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"report": [json.dumps(self.desk.close())]})


@dataclass(frozen=True)
class ToStage:
    """The end of a leg: what is out ends here, what is on its way is staged for the next leg."""

    sender: Sender
    letters: dict[str, Target]
    folder: Path

    def open(self, tag: str) -> _Staging:
        return _Staging(Desk(self.sender, {}, self.letters, tag), self.folder / f"{tag}-{uuid.uuid4().hex[:8]}.parquet")


class _Staging:
    def __init__(self, desk: Desk, file: Path) -> None:
        self.desk, self.file = desk, file
        self.writer: pq.ParquetWriter | None = None

    def take(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        good = rows.good
        self.desk.note(rows)
        if len(rows) and not good.all():
            self.desk.take(taken(rows, ~good))
        if good.any():
            batch = to_form(taken(rows, good))
            if self.writer is None:
                self.file.parent.mkdir(parents=True, exist_ok=True)
                self.writer = pq.ParquetWriter(self.file, batch.schema, compression="lz4", use_dictionary=False)
            self.writer.write_batch(batch)
        yield from ()

    def close(self) -> Iterator[pa.RecordBatch]:
        staged = []
        if self.writer is not None:
            self.writer.close()
            staged = [str(self.file)]
        yield pa.RecordBatch.from_pydict({"report": [json.dumps({**self.desk.close(), "staged": staged})]})


def taken(rows: Rows, mask: Mask) -> Rows:
    """These of the rows, without what was noted of all of them."""
    places = np.flatnonzero(mask)
    now_at = dict(zip(places.tolist(), range(len(places)), strict=True))
    verdicts = (v._replace(row=now_at[v.row]) for v in rows.verdicts if v.row in now_at)
    numbers = None if rows.records is None else rows.records[mask]
    at = pa.array(places)
    return Rows(rows.source.take(at), rows.data.take(at), tuple(verdicts), numbers)


@cache
def _settle() -> None:
    """Once per worker: what is loaded by now stays for good.

    Spark's daemon collects garbage after every task; without this it would look at every module's objects each time,
    some 40 ms of CPU a task.
    """
    gc.freeze()


def strange_in(reports: Iterable[str]) -> Counter[tuple[str, int]]:
    """Topic and id of the schemas that the tasks met and did not know."""
    met: Counter[tuple[str, int]] = Counter()
    for text in reports:
        for topic, number, count in json.loads(text)["strange"]:
            met[topic, number] += count
    return met


def merged(reports: Iterable[str]) -> tuple[dict[str, tuple[FrozenFile, ...]], Tally]:
    """The reports of all tasks as one: files by sink, and the whole tally."""
    files: dict[str, list[FrozenFile]] = {}
    tally = Tally()
    for text in reports:
        report = json.loads(text)
        tally.add(Tally.from_json(report["tally"]))
        for name, written in report["files"].items():
            files.setdefault(name, []).extend(FrozenFile(**file) for file in written)
    return {name: tuple(written) for name, written in files.items()}, tally
