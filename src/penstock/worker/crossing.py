"""Rows on their way between the Python worker and Spark: one flat row form, and both directions.

Data columns stand under their own names. What penstock carries beside them begins with `_` (users read it) or with
`__` (nobody does). A record that is out travels on as a row of nulls with its verdict, so that nothing is ever lost
sight of between the source and the count at the end.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.rows import HEADERS, RECORD, SOURCE, TIME, Mask, Numbers, Rows, Verdict, begins
from penstock.worker.stretches import changed

OUT = pa.struct(
    [
        pa.field("stage", pa.string()),
        pa.field("code", pa.string()),
        pa.field("field", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("fate", pa.string()),
    ]
)
"""Why a row is out; `fate` is `reject`, `drop` or `stop`. Null for a row that is on its way."""

CARRIED = {
    "_topic": "topic",
    "_partition": "partition",
    "_offset": "offset",
    "_timestamp": "timestamp",
    "_key": "key",
    "_schema_id": "schema_id",
    "__timestamp_type": "timestamp_type",
    "__value": "value",
    "__headers": "headers",
}
"""Column of the row form -> column of `SOURCE`."""
FORM = pa.schema(
    [
        *(pa.field(name, SOURCE.field(source).type) for name, source in CARRIED.items()),
        pa.field("__out", OUT),
        pa.field("__warned", pa.string()),
        pa.field("__note", pa.string()),
    ]
)
"""What penstock carries in every row: where it came from, whether it is out, the checks that warned of it, and, in
one row of each batch, the unknown fields that were seen and the warnings that were counted so far (JSON).

None of it is a list: where Spark weighs an Arrow batch it walks, for every row, over all the lists that are null."""
BETWEEN_NAMES = ","
"""Between the names of the checks in `__warned`."""
ROUTE = pa.struct(
    [
        pa.field("take", pa.bool_()),
        pa.field("key", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("headers", HEADERS),
    ]
)
"""What a sink's own expressions gave for a row: does it take the row, and the row's key, topic and headers.

Null where one of them raised an error. What a sink does not ask for is null or empty, and not read.
"""
ROUTE_PREFIX = "__to_"
"""Before a sink's name: the column of the row form that holds its ROUTE."""
FLAGS = {"reject": (False, False), "drop": (True, False), "stop": (False, True)}
"""Fate -> `drop` and `stop` of its Verdict."""
FATES = {flags: fate for fate, flags in FLAGS.items()}


def with_form(data: pa.Schema) -> pa.Schema:
    """The row form of these data columns. Null is allowed everywhere: the data of a record that is out are null."""
    return pa.schema([*(field.with_nullable(True) for field in data), *FORM])


def to_form(rows: Rows) -> pa.RecordBatch:
    """Rows as Spark gets them."""
    there = rows.source.schema.names
    carried = {
        name: rows.source[source] if source in there else pa.nulls(len(rows), FORM.field(name).type)
        for name, source in CARRIED.items()
    }
    carried["_timestamp"] = carried["_timestamp"].cast(TIME)
    carried["__out"] = _outs(rows)
    carried["__warned"] = pa.nulls(len(rows), pa.string())
    told = {"unknown": dict(rows.unknown), "warned": dict(rows.warned)} if rows.unknown or rows.warned else None
    notes = [json.dumps(told), *[None] * (len(rows) - 1)] if told else None
    carried["__note"] = pa.array(notes, pa.string()) if told else pa.nulls(len(rows), pa.string())
    arrays = [*rows.data.columns, *(carried[field.name] for field in FORM)]
    return pa.RecordBatch.from_arrays(arrays, schema=with_form(rows.data.schema))


def from_form(batch: pa.RecordBatch, columns: pa.Schema, sinks: Sequence[str], *, multiplied: bool) -> Rows:
    """What Spark hands over, as Rows: whole records.

    `multiplied`: a step may have made several rows of one record; it is then settled what becomes of the record.
    """
    records = numbers_of(batch) if multiplied else None
    told = batch if records is None else batch.filter(pa.array(begins(records)))
    unknown, warned = _noted(told["__note"])
    warned.update(pc.split_pattern(told["__warned"].drop_null(), BETWEEN_NAMES).flatten().to_pylist())
    if records is not None:
        stays = settled(batch["__out"], records)
        batch, records = batch.filter(pa.array(stays)), numbered(begins(records[stays]))
    source = {source: batch[name].cast(SOURCE.field(source).type) for name, source in CARRIED.items()}
    data = [batch[field.name] for field in columns]
    return Rows(
        source=pa.RecordBatch.from_arrays([source[name] for name in SOURCE.names], schema=SOURCE),
        data=pa.RecordBatch.from_arrays(data, schema=_as_they_are(columns, data)),
        verdicts=tuple(_verdicts(batch["__out"])),
        records=records,
        unknown=unknown,
        warned=warned,
        routes={name: batch[ROUTE_PREFIX + name] for name in sinks},
    )


def settled(outs: pa.StructArray, records: Numbers) -> Mask:
    """Which rows stay, where rows of one record have met different fates.

    One that is rejected takes the whole record along, and stands for it. Else those that were dropped go, but for one
    where all of them were.
    """
    out = outs.is_valid().to_numpy(zero_copy_only=False)
    if not out.any():
        return np.ones(len(records), dtype=np.bool_)
    dropped = pc.fill_null(pc.equal(pc.struct_field(outs, "fate"), "drop"), False).to_numpy(zero_copy_only=False)
    rejected = out & ~dropped
    alive = np.isin(records, records[~out]) & ~np.isin(records, records[rejected])
    stand_in = _first_of_each(records, rejected)
    stand_in |= _first_of_each(records, dropped & ~alive & ~np.isin(records, records[rejected]))
    stays: Mask = (alive & ~out) | stand_in
    return stays


def _first_of_each(records: Numbers, mask: Mask) -> Mask:
    """The first row in the mask of every record that has one."""
    places = np.flatnonzero(mask)
    first = np.zeros(len(records), dtype=np.bool_)
    first[places[np.unique(records[places], return_index=True)[1]]] = True
    return first


def numbers_of(batch: pa.RecordBatch, record: Sequence[str] = RECORD) -> Numbers | None:
    """The number of the record of each row, counted from 0: rows of one record stand side by side.

    None where each row is a record of its own.
    """
    return numbered(changed(batch, record))


def numbered(starts: Mask) -> Numbers | None:
    """The numbers of records, of which one begins at each of these rows."""
    return None if starts.all() else np.cumsum(starts) - 1


def _as_they_are(columns: pa.Schema, data: Sequence[pa.Array]) -> pa.Schema:
    """The columns' names with the types that came: Spark's Arrow differs in the names inside lists and maps."""
    return pa.schema([pa.field(field.name, array.type) for field, array in zip(columns, data, strict=True)])


def _outs(rows: Rows) -> pa.Array:
    if not rows.verdicts:
        return pa.nulls(len(rows), OUT)
    told: list[dict[str, Any] | None] = [None] * len(rows)
    for verdict in rows.verdicts:
        fate = FATES[verdict.drop, verdict.stop]
        told[verdict.row] = {name: getattr(verdict, name) for name in ("stage", "code", "field", "detail")} | {
            "fate": fate
        }
    return pa.array(told, OUT)


def _verdicts(outs: pa.StructArray) -> list[Verdict]:
    if outs.null_count == len(outs):
        return []
    places = pc.indices_nonzero(outs.is_valid())
    return [
        Verdict(
            row, out["code"], out["field"], out["detail"], out["stage"], out["fate"] == "drop", out["fate"] == "stop"
        )
        for row, out in zip(places.to_pylist(), outs.take(places).to_pylist(), strict=True)
    ]


def _noted(notes: pa.StringArray) -> tuple[Counter[str], Counter[str]]:
    """The unknown fields that the decoder noted, and the warnings of checks that ran before."""
    unknown: Counter[str] = Counter()
    warned: Counter[str] = Counter()
    for note in notes.drop_null().to_pylist():
        told = json.loads(note)
        unknown.update(told["unknown"])
        warned.update(told["warned"])
    return unknown, warned
