"""Records joined by newlines, as Arrow's JSON reader takes them; any range of them without copying."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Rows = np.ndarray[tuple[int], np.dtype[np.int64]]
NEWLINE, NOTHING = pa.scalar(b"\n", pa.binary()), pa.scalar(b"", pa.binary())


@dataclass(frozen=True)
class Lines:
    """Records on their way to the parser.

    Each begins with `{` and ends with `}`. So a newline between two of them can only lie between two documents (in a
    text it would be an error), every document lies inside one record, and as many documents as records means one each.
    """

    rows: Rows
    """Which row of the batch each record is."""
    starts: Rows
    """Where each begins in the buffer, and the end."""
    buffer: pa.Buffer

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def plain(self) -> bool:
        """Whether every newline ends a record; else some record is written over several lines."""
        data = np.frombuffer(self.buffer, np.uint8)
        return int(np.count_nonzero(data == ord("\n"))) == len(self)

    def longest(self, first: int, last: int) -> int:
        """Bytes of the longest record in the range."""
        return int(np.diff(self.starts[first : last + 1]).max())

    def before(self, first: int, size: int) -> int:
        """The first record that does not end within `size` bytes from the start of `first`."""
        return int(np.searchsorted(self.starts, self.starts[first] + size, "right")) - 1

    def part(self, first: int, last: int) -> pa.Buffer:
        start = int(self.starts[first])
        return self.buffer.slice(start, int(self.starts[last]) - start)

    def record(self, index: int) -> bytes:
        return self.records(index, index + 1)[0]

    def records(self, first: int, last: int) -> list[bytes]:
        """The records of a range, each without its newline."""
        data, base = self.part(first, last).to_pybytes(), int(self.starts[first])
        edges = (self.starts[first : last + 1] - base).tolist()
        return [data[start : end - 1] for start, end in pairwise(edges)]

    def without(self, out: list[int]) -> Lines:
        """The lines that are left when these are taken out."""
        stay = np.ones(len(self), np.bool_)
        stay[out] = False
        offsets = pa.py_buffer(self.starts.astype(np.int32))
        whole = pa.BinaryArray.from_buffers(pa.binary(), len(self), [None, offsets, self.buffer])
        return _lines(whole.filter(pa.array(stay)), self.rows[stay])

    def holding(self, text: bytes, first: int, last: int, limit: int) -> list[int]:
        """The first few records of the range that hold these bytes."""
        data, base = self.part(first, last).to_pybytes(), int(self.starts[first])
        found: list[int] = []
        at = data.find(text)
        while at >= 0 and len(found) < limit:
            found.append(int(np.searchsorted(self.starts, base + at, "right")) - 1)
            at = data.find(text, int(self.starts[found[-1] + 1]) - base)
        return found


def lines_of(values: pa.Array, rows: Rows) -> Lines:
    """All of these values, which have these row numbers; there is no null among them."""
    return _lines(pc.binary_join_element_wise(values.cast(pa.binary()), NEWLINE, NOTHING), rows)


def _lines(values: pa.Array, rows: Rows) -> Lines:
    """Of values that end in their newline."""
    if not len(values):
        return Lines(rows, np.zeros(1, np.int64), pa.py_buffer(b""))
    starts = offsets_of(values).astype(np.int64)
    buffer = values.buffers()[2].slice(int(starts[0]), int(starts[-1] - starts[0]))
    return Lines(rows, starts - starts[0], buffer)


def lines_from(records: list[tuple[int, bytes]]) -> Lines:
    """The records of these rows."""
    sizes = np.fromiter((len(data) + 1 for _, data in records), np.int64, len(records))
    buffer = pa.py_buffer(b"".join(part for _, data in records for part in (data, b"\n")))
    rows = np.fromiter((row for row, _ in records), np.int64, len(records))
    return Lines(rows, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]), buffer)


def offsets_of(values: pa.Array) -> np.ndarray[tuple[int], np.dtype[Any]]:
    """Where each value of a binary array begins in its data, and the end."""
    if not len(values):
        return np.zeros(1, np.int64)
    width = np.int64 if pa.types.is_large_binary(values.type) else np.int32
    return np.frombuffer(values.buffers()[1], width)[values.offset : values.offset + len(values) + 1]
