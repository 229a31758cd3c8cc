"""How what lies in a record as it is to be is read: text, bytes, fixed; and what becomes text: uuid, enum."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from penstock.formats.avro.bytes import Bad, Bytes
from penstock.formats.avro.ops import Op, bitmap, within
from penstock.formats.cursor import Cursor
from penstock.formats.spans import is_text, taken
from penstock.rows import Numbers


class Span(Op):
    """What lies in the record as it is to be: text, bytes, fixed."""

    def __init__(self, arrow: pa.DataType, size: int | None = None) -> None:
        self.arrow, self.size = arrow, size
        self.smallest = 1 if size is None else size

    def spans(self, at: Cursor) -> tuple[Numbers, Numbers]:
        if self.size is None:
            return at.sized()
        places = at.step(self.size)
        return places, np.where(at.odd[at.rows], 0, self.size)

    def skip(self, at: Cursor) -> None:
        self.spans(at)

    def read(self, at: Cursor) -> pa.Array:
        begin, size = self.spans(at)
        return self._made(at, begin, size, pa.array(np.arange(0, 2 * len(begin), 2)))

    def spread(self, at: Cursor, count: int, places: Numbers) -> pa.Array:
        begin, size = self.spans(at)
        numbers = np.zeros(count, dtype=np.int64)
        numbers[places] = np.arange(0, 2 * len(begin), 2)
        wanted = pa.Array.from_buffers(pa.int64(), count, [bitmap(count, places), pa.py_buffer(numbers)])
        return self._made(at, begin, size, wanted)

    def _made(self, at: Cursor, begin: Numbers, size: Numbers, wanted: pa.Array) -> pa.Array:
        """The wanted of these values, as text where they are to be."""
        made = taken(at, begin, size, wanted)
        if not pa.types.is_string(self.arrow):
            return made
        try:
            return made.cast(self.arrow)
        except pa.ArrowInvalid:
            wrong = np.array([not is_text(one) for one in _slices(at, begin, size)], dtype=np.bool_)
            at.mark(wrong)
            return taken(at, begin, np.where(wrong, 0, size), wanted).cast(self.arrow)

    def one(self, data: Bytes) -> Any:
        start = data.at
        value = data.sized() if self.size is None else data.take(self.size)
        if not pa.types.is_string(self.arrow):
            return value
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Bad(start, f"text that is not UTF-8, at its byte {error.start}") from None


def _slices(at: Cursor, begin: Numbers, size: Numbers) -> list[bytes]:
    data = at.buffer.bytes
    return [data[first : first + count].tobytes() for first, count in zip(begin.tolist(), size.tolist(), strict=True)]


class Uuid(Op):
    """fixed(16) with the logical type uuid, as text."""

    smallest = 16
    arrow = pa.string()

    def read(self, at: Cursor) -> pa.Array:
        begin, size = Span(pa.binary(), 16).spans(at)
        return pa.array([str(UUID(bytes=one)) if one else "" for one in _slices(at, begin, size)], self.arrow)

    def one(self, data: Bytes) -> Any:
        return str(UUID(bytes=data.take(16)))


class Symbols(Op):
    """enum, as the text of its symbol."""

    smallest = 1
    arrow = pa.string()

    def __init__(self, symbols: tuple[str, ...]) -> None:
        self.symbols, self.texts = symbols, pa.array(symbols, pa.string())

    def skip(self, at: Cursor) -> None:
        self._numbers(at)

    def _numbers(self, at: Cursor) -> Numbers:
        number = at.long()
        within(at, number, 0, len(self.symbols) - 1)
        return number

    def read(self, at: Cursor) -> pa.Array:
        number = self._numbers(at)
        return self.texts.take(pa.array(number)) if self.symbols else pa.nulls(len(number), self.arrow)

    def one(self, data: Bytes) -> Any:
        start, number = data.at, data.int32()
        if not 0 <= number < len(self.symbols):
            raise Bad(start, f"symbol {number} of an enum that has {len(self.symbols)}")
        return self.symbols[number]
