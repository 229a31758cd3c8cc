"""What a Python step made of a batch, put together again with what it never saw, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa

from penstock.rows import LINEAGE, RECORD, Numbers, Rows, Verdict
from penstock.worker.crossing import CARRIED, numbers_of
from penstock.worker.stretches import Part, Stretches, in_stretches

if TYPE_CHECKING:
    from penstock.steps.python import PythonStep

Place: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset of a record."""


class Joined:
    """What a step made of some rows, put together again with those it never saw."""

    def __init__(self, rows: Rows, given: Numbers, step: PythonStep) -> None:
        self.rows, self.step = rows, step
        self.given = {part: Given(rows.source["offset"], places) for part, places in _by_part(rows, given)}

    def of(self, made: list[pa.RecordBatch], failed: dict[Place, str]) -> Rows:
        columns = self.step.columns
        batch = in_stretches(pa.concat_batches(made) if made else _nothing(columns), "_topic", "_partition")
        places = self._places_of(batch)
        verdicts = dict(self._outs(places, failed))
        outs = np.array(sorted(verdicts), dtype=np.int64)
        order = np.argsort(np.concatenate([outs, places]), kind="stable")
        rows = np.concatenate([outs, places])[order]
        data = [pa.concat_arrays([pa.nulls(len(outs), f.type), batch[f.name]]).take(pa.array(order)) for f in columns]
        now_at = np.empty(len(order), dtype=np.int64)
        now_at[order] = np.arange(len(order))
        source = self.rows.source.take(pa.array(rows))
        return Rows(
            source=source,
            data=pa.RecordBatch.from_arrays(data, schema=columns),
            verdicts=tuple(verdicts[int(out)]._replace(row=int(now_at[n])) for n, out in enumerate(outs)),
            records=numbers_of(source, tuple(CARRIED[name] for name in RECORD)),
            unknown=self.rows.unknown,
            warned=self.rows.warned,
        )

    def _places_of(self, batch: pa.RecordBatch) -> Numbers:
        """For each row that the step made, the first row of its record."""
        offsets = batch["_offset"].to_numpy(zero_copy_only=False)
        found = [np.empty(0, dtype=np.int64)]
        for (topic, partition), start, end in Stretches(batch, "_topic", "_partition"):
            given = self.given.get((topic, partition))
            if given is None:
                raise self.step.broken(f"it gave a row of {topic}-{partition}, of which it was given none")
            places = given.places_of(offsets[start:end])
            if (places < 0).any():
                strange = offsets[start:end][places < 0][0]
                raise self.step.broken(f"it gave a row with _offset {strange}, which it was not given")
            found.append(places)
        return np.concatenate(found)

    def _outs(self, places: Numbers, failed: dict[Place, str]) -> Iterator[tuple[int, Verdict]]:
        """Rows that are out: as before, on which the step raised, and those that it left out."""
        stage = f"step:{self.step.name}"
        for verdict in self.rows.verdicts:
            yield verdict.row, verdict
        raised = set()
        for (topic, partition, offset), detail in failed.items():
            place = int(self.given[topic, partition].places_of(np.array([offset]))[0])
            raised.add(place)
            yield place, Verdict(place, "step_failed", None, detail, stage)
        every = np.concatenate([given.places for given in self.given.values()])
        for place in np.setdiff1d(every, places).tolist():
            if place not in raised:
                yield place, Verdict(place, self.step.name, None, None, stage, drop=True)


class Given:
    """The records of one partition that a step was given, by offset."""

    def __init__(self, offsets: pa.Array, rows: Numbers) -> None:
        self.offsets, first = np.unique(offsets.take(pa.array(rows)).to_numpy(), return_index=True)
        self.places: Numbers = rows[first]
        """The first row of each."""

    def places_of(self, offsets: Numbers) -> Numbers:
        """The first row of the record at each of these offsets; -1 where the step was given none."""
        at = np.minimum(np.searchsorted(self.offsets, offsets), len(self.offsets) - 1)
        return np.where(self.offsets[at] == offsets, self.places[at], -1)


def _by_part(rows: Rows, given: Numbers) -> Iterator[tuple[Part, Numbers]]:
    """Of these rows, which ascend, those of each partition."""
    for part, start, end in Stretches(rows.source):
        first, last = np.searchsorted(given, (start, end))
        if first < last:
            yield part, given[first:last]


def _nothing(columns: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], pa.schema([*columns, *(LINEAGE.field(name) for name in RECORD)]))
