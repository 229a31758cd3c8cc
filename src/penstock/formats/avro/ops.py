"""How an Avro type is read: from all records at once, and from one. The types are in numbers, spans, nested, blocks.

Both ways must come to the same: `read` marks what it cannot be sure of as odd, and `one` decides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.formats.avro.bytes import Bytes
from penstock.formats.cursor import Cursor
from penstock.rows import Numbers


class Op:
    """One type of the writer's, read into one type of the row's."""

    arrow: pa.DataType
    smallest: int = 0
    """Bytes that a value has at least."""

    def read(self, at: Cursor) -> pa.Array:
        """A value from each record."""
        raise NotImplementedError

    def one(self, data: Bytes) -> Any:
        """A value from one record, as `pa.array` takes it. Raises Bad."""
        raise NotImplementedError

    def skip(self, at: Cursor) -> None:
        """Move on without a value."""
        self.read(at)

    def spread(self, at: Cursor, count: int, places: Numbers) -> pa.Array:
        """The values at these places of `count`; nulls elsewhere."""
        return self.read(at).take(_places(count, places))


def _places(count: int, places: Numbers) -> pa.Array:
    """For each of `count` rows the number of its value, or null."""
    taken = np.zeros(count, dtype=np.int64)
    taken[places] = np.arange(len(places))
    return pa.Array.from_buffers(pa.int64(), count, [bitmap(count, places), pa.py_buffer(taken)])


def bitmap(count: int, places: Numbers) -> pa.Buffer:
    """Arrow's bits for what is not null."""
    valid = np.zeros(count, dtype=np.bool_)
    valid[places] = True
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


class Constant(Op):
    """Nothing is read: the reader's default, or null."""

    def __init__(self, arrow: pa.DataType, value: Any) -> None:
        self.arrow, self.value = arrow, value
        self.single = pa.array([value], arrow)

    def read(self, at: Cursor) -> pa.Array:
        if self.value is None:
            return pa.nulls(len(at), self.arrow)
        return self.single.take(pa.array(np.zeros(len(at), dtype=np.int64)))

    def one(self, data: Bytes) -> Any:
        return self.value


def within(at: Cursor, value: Numbers, low: int, high: int) -> None:
    """Mark the records whose number lies outside."""
    if len(value) and (int(value.min()) < low or int(value.max()) > high):
        wrong = (value < low) | (value > high)
        at.mark(wrong)
        value[wrong] = 0
