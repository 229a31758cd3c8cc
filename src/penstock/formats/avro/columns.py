"""The Avro decoder: the payloads of one writer's schema into the columns of the row type, all records at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.formats.arrow_types import to_arrow
from penstock.formats.avro.blocks import FEW
from penstock.formats.avro.bytes import Bad, Bytes
from penstock.formats.avro.nested import Record
from penstock.formats.contract import Decoded
from penstock.formats.cursor import BEFORE, Buffer, Cursor
from penstock.formats.framed_columns import buffers_of
from penstock.formats.types import Field
from penstock.rows import Numbers, Verdict

AT_ONCE = 16_384
"""Records that are read side by side: what is made of them on the way stays in the processor's cache."""


class AvroDecoder:
    """Reads payloads of one writer's schema."""

    def __init__(self, record: Record, fields: tuple[Field, ...]) -> None:
        self.record = record
        self.columns = to_arrow(fields)

    def decode(self, values: pa.Array) -> Decoded:
        data, starts, ends = buffers_of(values)
        return self.decode_spans(data, starts, ends)

    def decode_spans(self, data: Any, starts: Numbers, ends: Numbers) -> Decoded:
        """The records at these places of `data`, which come one behind the other."""
        verdicts: list[Verdict] = []
        parts = [
            self._some(data, starts[first : first + AT_ONCE], ends[first : first + AT_ONCE], first, verdicts)
            for first in range(0, len(starts), AT_ONCE)
        ]
        if len(parts) == 1:
            arrays = parts[0]
        else:
            arrays = [pa.concat_arrays(column) for column in zip(*parts, strict=True)] or self._none()
        return Decoded(pa.RecordBatch.from_arrays(arrays, schema=self.columns), verdicts, {})

    def _none(self) -> list[pa.Array]:
        return [pa.nulls(0, field.type) for field in self.columns]

    def _some(self, data: Any, starts: Numbers, ends: Numbers, first: int, verdicts: list[Verdict]) -> list[pa.Array]:
        count = len(starts)
        odd = np.ones(count, dtype=np.bool_)
        arrays = [pa.nulls(count, field.type) for field in self.columns]
        if count >= FEW:
            begin = int(starts[0])
            at = starts - begin + BEFORE
            odd[:] = False
            cursor = Cursor(Buffer(data[begin : int(ends[-1])]), at, ends - begin + BEFORE, np.arange(count), odd)
            arrays = self.record.columns(cursor)
            odd |= cursor.at != cursor.end
        if odd.any():
            arrays = self._looked_at(arrays, data, starts, ends, np.flatnonzero(odd), first, verdicts)
        return arrays

    def _looked_at(
        self,
        arrays: list[pa.Array],
        data: Any,
        starts: Numbers,
        ends: Numbers,
        odd: Numbers,
        first: int,
        verdicts: list[Verdict],
    ) -> list[pa.Array]:
        """The columns with each odd record read by itself, or null where it is bad."""
        count = len(starts)
        place = np.arange(count)
        place[odd] = -1
        good: list[list[Any]] = []
        for row in odd.tolist():
            values = self._one(data[starts[row] : ends[row]].tobytes(), first + row, verdicts)
            if values is not None:
                place[row] = count + len(good)
                good.append(values)
        taken = pa.array(place, mask=place < 0)
        more = zip(*good, strict=True) if good else [()] * len(arrays)
        return [
            pa.concat_arrays([array, pa.array(list(column), array.type)]).take(taken)
            for array, column in zip(arrays, more, strict=True)
        ]

    def _one(self, data: bytes, row: int, verdicts: list[Verdict]) -> list[Any] | None:
        source = Bytes(data)
        try:
            values = self.record.values(source)
            if source.left:
                raise Bad(source.at, f"the record ends here, and {source.left} bytes follow")
        except Bad as bad:
            detail = f"At byte {bad.at} of {len(data)}: {bad.why}."
            verdicts.append(Verdict(row, "bad_payload", bad.pointer, detail))
            return None
        return values
