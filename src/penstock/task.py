"""What one task of a batch does, in the Python worker: decode, write files, count. Nothing it does is visible yet.

The Arrow stages of a pipeline are fused here: a record crosses from the JVM once and never goes back. What returns
to the driver is one small report a task: the files that were written and the fate of every record.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.contract import Decoder, FormatOptions
from penstock.rows import DEAD_LETTER, Rows, Verdict, headers_of, lineage_of
from penstock.sinks.contract import FrozenFile, Target, Writer
from penstock.tally import Tally
from penstock.version import __version__

DEAD_LETTERS = "dead_letters"
CROSSING = ("key", "value", "topic", "partition", "offset", "timestamp", "headers")
"""The source columns that a task needs; each costs CPU on its way from the JVM."""
REPORT = "report string"
"""Spark's type of what a task returns."""


@dataclass(frozen=True)
class Work:
    """One task's orders: how to decode and where to write. Small and picklable; it travels to the executors."""

    pipeline: str
    generation: int
    batch_id: int
    decode: FormatOptions
    targets: dict[str, Target]
    dead_letters: Target

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The function that `mapInArrow` runs."""
        from pyspark import TaskContext

        context = TaskContext.get()
        task = f"{context.partitionId():05d}-{context.attemptNumber()}" if context else "00000-0"
        yield self.run(batches, task)
        _settle()

    def run(self, batches: Iterable[pa.RecordBatch], task: str) -> pa.RecordBatch:
        pa.set_cpu_count(1)  # the task has one core; Arrow's pool would take the other tasks'
        desk = Desk(self, f"{self.batch_id:08d}-{task}")
        for batch in batches:
            desk.take(batch)
        return pa.RecordBatch.from_pydict({"report": [json.dumps(desk.close())]})


class Desk:
    """Where a task's records are decoded, counted and handed to the writers."""

    def __init__(self, work: Work, tag: str) -> None:
        self.work = work
        self.decoder: Decoder = work.decode.decoder()
        self.writers: dict[str, Writer] = {name: target.writer(tag) for name, target in work.targets.items()}
        self.dead_letters: Writer = work.dead_letters.writer(tag)
        self.tally = Tally()

    def take(self, batch: pa.RecordBatch) -> None:
        """Decode one Arrow batch and write every record of it somewhere."""
        for piece in by_partition(batch):
            self._take(piece)

    def _take(self, source: pa.RecordBatch) -> None:
        decoded = self.decoder.decode(source["value"])
        rows = Rows(source, decoded.data, tuple(decoded.verdicts), decoded.unknown)
        fates = self.tally.of(source["topic"][0].as_py(), source["partition"][0].as_py())
        fates.seen += len(rows)
        fates.cover(*pc.min_max(source["offset"]).as_py().values())
        self.tally.note_unknown(rows.unknown)
        for verdict in rows.verdicts:
            (fates.dropped if verdict.drop else fates.rejected)[verdict.code] += 1
        for name, writer in self.writers.items():
            misfits = self._write(name, writer, rows)
            fates.written[name] += len(rows) - len(rows.verdicts) - len(misfits)
            for verdict in misfits:
                fates.refused.setdefault(name, type(fates.rejected)())[verdict.code] += 1
            self._bury(rows.source, misfits)
        self._bury(rows.source, [verdict for verdict in rows.verdicts if not verdict.drop])

    def _write(self, name: str, writer: Writer, rows: Rows) -> list[Verdict]:
        """Hand the good rows to a writer; what does not fit comes back as verdicts on the source's rows."""
        whole = beside(rows.data, lineage_of(rows.source))
        kept = None
        if rows.verdicts:
            mask = pa.array(rows.good())
            kept, whole = pc.indices_nonzero(mask), whole.filter(mask)
        if whole.num_rows == 0:
            return []
        return [
            Verdict(
                row=misfit.row if kept is None else kept[misfit.row].as_py(),
                code="does_not_fit",
                field=misfit.field,
                detail=misfit.detail,
                stage=f"sink:{name}",
            )
            for misfit in writer.write(whole)
        ]

    def _bury(self, source: pa.RecordBatch, verdicts: list[Verdict]) -> None:
        if verdicts:
            self.dead_letters.write(dead_letters(self.work, source, verdicts))

    def close(self) -> dict[str, Any]:
        """Finish every file; say what was written and what became of each record."""
        files = {name: _files(writer) for name, writer in (*self.writers.items(), (DEAD_LETTERS, self.dead_letters))}
        return {"files": files, "tally": self.tally.to_json()}


def dead_letters(work: Work, source: pa.RecordBatch, verdicts: list[Verdict]) -> pa.RecordBatch:
    """These records as rows of the dead-letter table."""
    taken = source.take(pa.array([verdict.row for verdict in verdicts], pa.int64()))
    count = len(verdicts)

    def same(value: Any, name: str) -> pa.Array:
        return pa.array([value] * count, DEAD_LETTER.field(name).type)

    columns = {name: taken[name] for name in ("topic", "partition", "offset", "timestamp", "key", "value")}
    columns["headers"] = headers_of(taken)
    for name in ("stage", "code", "field", "detail"):
        columns[name] = pa.array([getattr(verdict, name) for verdict in verdicts], pa.string())
    columns |= {
        "schema_id": pa.nulls(count, pa.int32()),
        "pipeline": same(work.pipeline, "pipeline"),
        "generation": same(work.generation, "generation"),
        "batch_id": same(work.batch_id, "batch_id"),
        "rejected_at": same(datetime.now(UTC), "rejected_at"),
        "version": same(__version__, "version"),
    }
    arrays = [columns[field.name].cast(field.type) for field in DEAD_LETTER]
    return pa.RecordBatch.from_arrays(arrays, schema=DEAD_LETTER)


def by_partition(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in pieces of one topic partition each. A task reads one, so nearly always this is the whole batch."""
    if batch.num_rows == 0:
        return
    ends = pc.min_max(batch["partition"]).as_py(), pc.min_max(batch["topic"]).as_py()
    if all(end["min"] == end["max"] for end in ends):
        yield batch
        return
    table = pa.Table.from_batches([batch])
    for pair in table.group_by(["topic", "partition"]).aggregate([]).to_pylist():
        mask = pc.and_(pc.equal(batch["topic"], pair["topic"]), pc.equal(batch["partition"], pair["partition"]))
        yield batch.filter(mask)


def beside(left: pa.RecordBatch | None, right: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of both, side by side."""
    if left is None:
        return right
    return pa.RecordBatch.from_arrays([*left.columns, *right.columns], schema=pa.schema([*left.schema, *right.schema]))


@cache
def _settle() -> None:
    """Once per worker: what is loaded by now stays for good.

    Spark's daemon collects garbage after every task; without this it would look at every module's objects each time,
    some 40 ms of CPU a task.
    """
    gc.freeze()


def _files(writer: Writer) -> list[dict[str, Any]]:
    return [file.__dict__ for file in writer.close()]


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
