"""Payloads by Google's runtime and ptars.

Google's runtime decides what a message is: the messages of a step are put behind one another, as one message that
repeats them, and it reads them at one stroke, without a Python object for each. What it writes back is the plainest
form of the same values: every field once, oneofs decided, maps without doubles, nothing unknown. Only that reaches the
quick decoder, whose columns are then those of Google's runtime, whatever came in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from penstock.formats.protobuf.joined import Joined
from penstock.formats.protobuf.unsound import missing, reason, unknown_of
from penstock.rows import Numbers, Verdict

if TYPE_CHECKING:
    from penstock.formats.protobuf.columns import ProtobufDecoder


class Step:
    """A few thousand payloads and what became of each."""

    def __init__(self, decoder: ProtobufDecoder, values: pa.Array, *, look: bool = False) -> None:
        self.decoder, self.values, self.look = decoder, values, look
        """`look`: for what the schema does not name, in any case: these are few, and the usual ones read elsewhere."""
        self.verdicts: list[Verdict] = []
        self.unknown: dict[str, int] = {}
        self._parts: list[tuple[Numbers, pa.RecordBatch]] = []

    def run(self) -> pa.RecordBatch:
        """One row per payload, in order; null where there is a verdict."""
        rows, bodies = self._bodies()
        if len(rows):
            self._read(rows, Joined(bodies))
        return self._in_order()

    def _bodies(self) -> tuple[Numbers, pa.Array]:
        """The messages without their indexes, and which payloads they are."""
        rows = np.arange(len(self.values))
        values = self.values
        if values.null_count:
            for row in np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False)):
                self._out(int(row), None, "The record has no payload.")
            rows, values = rows[values.is_valid().to_numpy(zero_copy_only=False)], values.drop_null()
        if self.decoder.indexes is None:
            return rows, values
        bodies, wrong = self.decoder.indexes.stripped(values)
        for place, why in wrong.items():
            self._out(int(rows[place]), None, why)
        return np.delete(rows, list(wrong)), bodies

    def _read(self, rows: Numbers, joined: Joined) -> None:
        """Decode these messages. What cannot be is judged, and the rest decoded without it."""
        batch, refused = joined.parsed(self.decoder.many)
        for place in refused:
            self._out(int(rows[place]), *self._judged(joined.body(place)))
        rows = np.delete(rows, refused)
        if not len(rows):
            return
        if self.decoder.has_required and not batch.IsInitialized():
            self._without(rows, joined.without(refused), self._incomplete(rows, batch))
            return
        looks = self.look or self.decoder.looks()
        if not looks and self._keep(rows, batch.SerializePartialToString(deterministic=True)):
            return
        joined = joined.without(refused)
        batch.DiscardUnknownFields()
        data = batch.SerializePartialToString(deterministic=True)
        if len(data) != len(joined.data) and self._lessened(joined, data):
            self.decoder.saw_unknown = True
            if self.decoder.rejecting:
                self._without(rows, joined, self._with_unknown(rows, joined))
                return
            self._count_unknown(joined)
        if not self._keep(rows, data):
            raise AssertionError("ptars refuses what Google's runtime wrote")

    def _lessened(self, joined: Joined, data: bytes) -> bool:
        """Was there anything unknown in these messages?"""
        return bool(self.decoder.many.FromString(joined.data).ByteSize() != len(data))

    def _judged(self, body: bytes) -> tuple[str | None, str]:
        """What is wrong with a message that was refused; it may be sound alone, but too deep as part of another."""
        from google.protobuf.message import DecodeError

        try:
            self.decoder.one.FromString(body)
        except DecodeError:
            return reason(self.decoder.message, body)
        return None, "Unknown groups are nested too deep in it."

    def _without(self, rows: Numbers, joined: Joined, bad: list[int]) -> None:
        """Decode the others."""
        if len(bad) < len(rows):
            self._read(np.delete(rows, bad), joined.without(bad))

    def _incomplete(self, rows: Numbers, batch: Any) -> list[int]:
        found = [place for place, one in enumerate(batch.rows) if not one.IsInitialized()]
        for place in found:
            pointer = missing(batch.rows[place])
            self._out(int(rows[place]), pointer, "A required field is missing.")
        return found

    def _with_unknown(self, rows: Numbers, joined: Joined) -> list[int]:
        found = []
        for place, one in enumerate(self.decoder.many.FromString(joined.data).rows):
            if pointer := next(unknown_of(one), None):
                why = f"Schema {self.decoder.writer.id} does not name the field of this number, or its value."
                self.verdicts.append(Verdict(int(rows[place]), "unknown_field", pointer, why))
                found.append(place)
        return found

    def _count_unknown(self, joined: Joined) -> None:
        for one in self.decoder.many.FromString(joined.data).rows:
            for pointer in set(unknown_of(one)):
                self.unknown[pointer[1:]] = self.unknown.get(pointer[1:], 0) + 1

    def _keep(self, rows: Numbers, data: bytes) -> bool:
        """Take the columns of these messages. False where the quick decoder cannot read them: it knows no groups, and
        unknown ones are allowed."""
        try:
            arrays, flaws = self.decoder.columns_from(data, len(rows))
        except ValueError:
            return False
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.decoder.nullable)
        if flaws:
            first = {flaw.row: flaw for flaw in reversed(flaws)}
            for place, flaw in first.items():
                self._out(int(rows[place]), flaw.path, flaw.detail)
            keep = np.delete(np.arange(len(rows)), list(first))
            rows, batch = rows[keep], batch.take(pa.array(keep))
        self._parts.append((rows, batch))
        return True

    def _in_order(self) -> pa.RecordBatch:
        schema = self.decoder.nullable
        if not self._parts:
            return pa.RecordBatch.from_arrays([pa.nulls(len(self.values), one.type) for one in schema], schema=schema)
        batch = pa.concat_batches([part for _, part in self._parts]) if len(self._parts) > 1 else self._parts[0][1]
        rows = np.concatenate([rows for rows, _ in self._parts])
        if len(rows) == len(self.values):
            return batch if (rows[1:] > rows[:-1]).all() else batch.take(pa.array(np.argsort(rows)))
        places = np.full(len(self.values), -1, np.int64)
        places[rows] = np.arange(len(rows))
        return batch.take(pa.array(places, mask=places < 0))

    def _out(self, row: int, field: str | None, why: str) -> None:
        self.verdicts.append(Verdict(row, "bad_payload", field, why))
