"""A look at what a pipeline makes of records, before it runs: the real pass, into a folder that is thrown away.

No state is touched, no table, no topic. A pipeline without SQL needs no Spark for it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.counting import counted
from penstock.pipeline import Pipeline
from penstock.rows import DEAD_LETTER
from penstock.sinks.contract import FrozenFile, Misfit, RecordNumbers, Target
from penstock.steps.flow import Flow, in_worker
from penstock.steps.legs import Pass
from penstock.tally import Fates
from penstock.worker.desk import DEAD_LETTERS
from penstock.worker.intake import FromSource
from penstock.worker.letters import Sender
from penstock.worker.task import ToSinks, Work, merged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Preview:
    """What became of the records that were looked at."""

    read: int
    sinks: dict[str, pa.Table]
    """The rows that each sink would get."""
    rejects: pa.Table
    """In the columns of the dead-letter table."""
    fates: Fates
    """Counts: rejected and dropped by name, warnings, not routed by sink."""

    @property
    def rows(self) -> pa.Table:
        """The rows of the first sink."""
        return next(iter(self.sinks.values()))

    def _repr_html_(self) -> str:
        """For a notebook: a table a sink, then the rejects with their reasons. Values are shown as text."""
        parts = [f"<p>{counted(self.read, 'record')} looked at, {self.rejects.num_rows} rejected</p>"]
        parts += [f"<h4>{escape(name)}</h4>{_html(table)}" for name, table in self.sinks.items()]
        if self.rejects.num_rows:
            told = ["topic", "partition", "offset", "stage", "code", "field", "detail", "value"]
            parts.append(f"<h4>rejected</h4>{_html(self.rejects.select(told))}")
        return "".join(parts)


@dataclass(frozen=True)
class PreviewTarget:
    """Rows into one Arrow file of a task, as they are."""

    folder: str
    extras: tuple[str, ...] = ()

    def writer(self, tag: str) -> PreviewWriter:
        return PreviewWriter(Path(self.folder, f"{tag}.arrow"))

    def to_json(self) -> dict[str, Any]:
        return {"folder": self.folder}


class PreviewWriter:
    """Takes everything: whether a table's columns fit is not asked here."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stream: pa.ipc.RecordBatchFileWriter | None = None
        self.count = 0

    def write(self, rows: pa.RecordBatch, records: RecordNumbers = None) -> list[Misfit]:
        if self.stream is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.stream = pa.ipc.new_file(str(self.path), rows.schema)
        self.stream.write_batch(rows)
        self.count += rows.num_rows
        return []

    def close(self) -> list[FrozenFile]:
        if self.stream is None:
            return []
        self.stream.close()
        return [FrozenFile(str(self.path), self.path.stat().st_size, self.count)]


@dataclass
class Previewer:
    """Runs the pass of a pipeline over a few records."""

    pipeline: Pipeline
    flow: Flow
    session: Callable[[], SparkSession]
    sender: Sender = field(default=Sender("preview", 0, 0))

    def of(self, records: pa.RecordBatch) -> Preview:
        """What becomes of these records; they are in the columns of `rows.SOURCE`."""
        with tempfile.TemporaryDirectory(prefix="penstock-preview-") as folder:
            names = [*self.pipeline.sinks, DEAD_LETTERS]
            targets: dict[str, Target] = {name: PreviewTarget(str(Path(folder, name))) for name in names}
            letters = {DEAD_LETTERS: targets.pop(DEAD_LETTERS)}
            reports = self._pass(records, ToSinks(self.sender, targets, letters), Path(folder))
            files, tally = merged(reports)
            tables = {name: _table([file.path for file in files.get(name, ())]) for name in names}
        rejects = tables.pop(DEAD_LETTERS)
        empty = pa.schema([*self.flow.columns])
        sinks = {name: empty.empty_table() if table is None else table for name, table in tables.items()}
        rejected = DEAD_LETTER.empty_table() if rejects is None else rejects
        return Preview(records.num_rows, sinks, rejected, tally.total())

    def _pass(self, records: pa.RecordBatch, end: ToSinks, folder: Path) -> list[str]:
        if all(stage.runs_in == "arrow" for stage in self.flow.stages):
            work = Work(0, FromSource(self.flow.decode), in_worker(self.flow.stages), end)
            return [report["report"][0].as_py() for report in work.run([records], "00000-0")]
        source = self.session().createDataFrame(pa.Table.from_batches([records]))
        return Pass(self.flow, 0, end, folder).over(source)


def _html(table: pa.Table) -> str:
    return str(table.to_pandas().to_html(index=False, escape=True, max_rows=100))


def _table(files: list[str]) -> pa.Table | None:
    """The rows of these files, read whole: the folder is about to go."""
    tables = [pa.ipc.open_file(pa.OSFile(file)).read_all() for file in files]
    return pa.concat_tables(tables) if tables else None
