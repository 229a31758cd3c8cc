"""Where a task's rows part ways: each sink takes its own, the dead letters get what is out, and all is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.rows import Mask, Rows, Verdict
from penstock.sinks.contract import Target, Writer
from penstock.sinks.fitting import fitting
from penstock.tally import Tally
from penstock.worker.books import Books
from penstock.worker.letters import Sender, dead_letters

DEAD_LETTERS = "dead_letters"
UNKNOWN_SCHEMA = "unknown_schema"
MOST_STRANGE = 1000
"""Unknown schema ids that a task tells of; a stream of random bytes must not fill its report."""
STRETCH = 256
"""Rows in line, on average, that are quicker copied at one stroke than one by one."""
RAISED = "An expression of this sink raised an error on the record."


class Desk:
    """One task's end: writers, dead letters, and the fate of every record."""

    def __init__(self, sender: Sender, targets: Mapping[str, Target], letters: Mapping[str, Target], tag: str) -> None:
        self.sender = sender
        self.outlets = [Outlet(name, target, tag) for name, target in targets.items()]
        self.letters: dict[str, Writer] = {name: target.writer(tag) for name, target in letters.items()}
        self.tally = Tally()
        self.strange: Counter[tuple[str, int]] = Counter()
        """Topic and schema id of records whose schema is not known."""

    def take(self, rows: Rows) -> None:
        """Write every row of a batch somewhere, and count its records."""
        self.note(rows)
        if not len(rows):
            return
        books = Books(rows, self.tally)
        books.open()
        for verdict in rows.verdicts:
            if verdict.code == UNKNOWN_SCHEMA:
                self._note_strange(rows.source, verdict.row)
        for outlet in self.outlets:
            self._bury(rows.source, outlet.take(rows, books))
        self._bury(rows.source, [verdict for verdict in rows.verdicts if not verdict.drop and not verdict.stop])

    def note(self, rows: Rows) -> None:
        """Count what was noticed on the way, beside the records' fates."""
        self.tally.large += rows.large
        self.tally.warned.update(rows.warned)
        self.tally.note_unknown(rows.unknown)

    def _note_strange(self, source: pa.RecordBatch, row: int) -> None:
        key = source["topic"][row].as_py(), source["schema_id"][row].as_py()
        if key in self.strange or len(self.strange) < MOST_STRANGE:
            self.strange[key] += 1

    def _bury(self, source: pa.RecordBatch, verdicts: list[Verdict]) -> None:
        if verdicts:
            letters = dead_letters(self.sender, source, verdicts)
            for writer in self.letters.values():
                writer.write(letters)

    def close(self) -> dict[str, Any]:
        """Finish every file; say what was written and what became of each record."""
        writers = {**{outlet.name: outlet.writer for outlet in self.outlets}, **self.letters}
        files = {name: [file.__dict__ for file in writer.close()] for name, writer in writers.items()}
        strange = [[topic, number, count] for (topic, number), count in self.strange.items()]
        return {"files": files, "tally": self.tally.to_json(), "strange": strange}


class Outlet:
    """The way into one sink: which rows it takes, which it cannot, and what was written."""

    def __init__(self, name: str, target: Target, tag: str) -> None:
        self.name, self.extras = name, target.extras
        self.writer = target.writer(tag)

    def take(self, rows: Rows, books: Books) -> list[Verdict]:
        """Write the rows of this sink. What it cannot take comes back: one verdict a record."""
        good = rows.good
        wanted, refused = self._routed(rows, good)
        written = wanted
        if wanted.any():
            mine = only(self._columns(rows), wanted)
            records = None if rows.records is None else rows.records[wanted]
            misfits = self.writer.write(mine, records)
            if misfits:
                fits = fitting(mine.num_rows, misfits, records)
                written = wanted.copy()
                written[np.flatnonzero(wanted)[~fits]] = False
                rows_of = np.flatnonzero(wanted)
                refused += [
                    Verdict(int(rows_of[misfit.row]), misfit.code, misfit.field, misfit.detail, self._stage)
                    for misfit in misfits
                ]
        verdicts = one_a_record(refused, rows)
        books.enter(self.name, written, verdicts)
        return verdicts

    @property
    def _stage(self) -> str:
        return f"sink:{self.name}"

    def _routed(self, rows: Rows, good: Mask) -> tuple[Mask, list[Verdict]]:
        """The rows that this sink's `where` takes; and those on which one of its expressions raised."""
        route = rows.routes.get(self.name)
        if route is None:
            return good, []
        raised = good & route.is_null().to_numpy(zero_copy_only=False)
        take = pc.fill_null(pc.struct_field(route, "take"), False).to_numpy(zero_copy_only=False)
        verdicts = [Verdict(int(row), "step_failed", None, RAISED, self._stage) for row in np.flatnonzero(raised)]
        if raised.any() and rows.records is not None:
            raised = np.isin(rows.records, rows.records[raised])
        return good & take & ~raised, verdicts

    def _columns(self, rows: Rows) -> pa.RecordBatch:
        """Data, lineage, and what else the writer asks for."""
        parts = [rows.data, rows.lineage]
        if self.extras:
            parts.append(self._extras(rows))
        return beside(*parts)

    def _extras(self, rows: Rows) -> pa.RecordBatch:
        route = rows.routes.get(self.name)
        columns = {
            name: rows.source["value"] if name == "__value" else pc.struct_field(route, name.removeprefix("__"))
            for name in self.extras
        }
        return pa.RecordBatch.from_pydict(columns)


def only(rows: pa.RecordBatch, wanted: Mask) -> pa.RecordBatch:
    """These of the rows. Where few are left out, what lies between them is copied as it is, not row by row."""
    if wanted.all():
        return rows
    edges = np.flatnonzero(np.diff(wanted, prepend=False, append=False))  # a stretch begins, ends, begins...
    if len(edges) * STRETCH > 2 * len(wanted):
        return rows.take(pa.array(np.flatnonzero(wanted)))
    stretches = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return pa.concat_batches([rows.slice(first, end - first) for first, end in stretches])


def one_a_record(verdicts: list[Verdict], rows: Rows) -> list[Verdict]:
    """The first verdict of each record."""
    if rows.records is None or len(verdicts) < 2:
        return verdicts
    first: dict[int, Verdict] = {}
    for verdict in sorted(verdicts, key=lambda each: each.row):
        first.setdefault(int(rows.records[verdict.row]), verdict)
    return list(first.values())


def beside(*parts: pa.RecordBatch) -> pa.RecordBatch:
    """The columns of all these batches, side by side."""
    columns = [column for part in parts for column in part.columns]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema([field for part in parts for field in part.schema]))
