"""How numbers are read, and what Avro writes as numbers: dates, times, decimals, true and false."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from penstock.formats.avro.bytes import Bad, Bytes
from penstock.formats.avro.ops import Op, bitmap, within
from penstock.formats.avro.spans import Span
from penstock.formats.cursor import Cursor
from penstock.rows import Numbers

INT32 = (-(2**31), 2**31 - 1)
FIRST_DAY, LAST_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31, the days that a table's readers agree on."""
FIRST_MICRO, LAST_MICRO = FIRST_DAY * 86_400_000_000, (LAST_DAY + 1) * 86_400_000_000 - 1
TIME = pa.timestamp("us", "UTC")


class Number(Op):
    """A type whose values stand in an array of one width."""

    smallest = 1

    def __init__(self, arrow: pa.DataType) -> None:
        self.arrow = arrow
        self.dtype = np.dtype(
            np.int32
            if pa.types.is_date32(arrow)
            else np.int64
            if pa.types.is_timestamp(arrow)
            else arrow.to_pandas_dtype()
        )

    def numbers(self, at: Cursor) -> Any:
        raise NotImplementedError

    def read(self, at: Cursor) -> pa.Array:
        made = np.ascontiguousarray(self.numbers(at), dtype=self.dtype)
        return pa.Array.from_buffers(self.arrow, len(made), [None, pa.py_buffer(made)])

    def spread(self, at: Cursor, count: int, places: Numbers) -> pa.Array:
        made = np.zeros(count, dtype=self.dtype)
        made[places] = self.numbers(at)
        return pa.Array.from_buffers(self.arrow, count, [bitmap(count, places), pa.py_buffer(made)])


class Whole(Number):
    """int and long, into any number."""

    def __init__(self, arrow: pa.DataType, *, long: bool) -> None:
        super().__init__(arrow)
        self.long = long

    def numbers(self, at: Cursor) -> Any:
        value = at.long()
        if not self.long:
            within(at, value, *INT32)
        return value

    def one(self, data: Bytes) -> Any:
        value = data.long() if self.long else data.int32()
        return float(value) if pa.types.is_floating(self.arrow) else value


class Date(Number):
    """int with the logical type date."""

    def __init__(self) -> None:
        super().__init__(pa.date32())

    def numbers(self, at: Cursor) -> Any:
        value = at.long()
        within(at, value, FIRST_DAY, LAST_DAY)
        return value

    def one(self, data: Bytes) -> Any:
        start, value = data.at, data.int32()
        if not FIRST_DAY <= value <= LAST_DAY:
            raise Bad(start, f"day {value} is outside of the years 1 to 9999")
        return value


class Time(Number):
    """long with a logical type of timestamps: milliseconds or microseconds."""

    def __init__(self, factor: int) -> None:
        super().__init__(TIME)
        self.factor = factor

    def numbers(self, at: Cursor) -> Any:
        value = at.long()
        within(at, value, -(-FIRST_MICRO // self.factor), LAST_MICRO // self.factor)
        return value * self.factor

    def one(self, data: Bytes) -> Any:
        start, value = data.at, data.long()
        if not FIRST_MICRO <= value * self.factor <= LAST_MICRO:
            unit = "milliseconds" if self.factor == 1000 else "microseconds"
            raise Bad(start, f"{value} {unit} are outside of the years 1 to 9999")
        return value * self.factor


class Floating(Number):
    """float and double."""

    def __init__(self, arrow: pa.DataType, *, double: bool) -> None:
        super().__init__(arrow)
        self.double = double
        self.smallest = 8 if double else 4

    def numbers(self, at: Cursor) -> Any:
        places = at.step(self.smallest)
        return at.buffer.values("<f8" if self.double else "<f4")[places]

    def one(self, data: Bytes) -> Any:
        return data.float64() if self.double else data.float32()


class Boolean(Op):
    smallest = 1
    arrow = pa.bool_()

    def read(self, at: Cursor) -> pa.Array:
        byte = at.buffer.bytes[at.step(1)]
        at.mark(byte > 1)
        bits = np.packbits(byte == 1, bitorder="little")
        return pa.Array.from_buffers(self.arrow, len(byte), [None, pa.py_buffer(bits)])

    def one(self, data: Bytes) -> Any:
        byte = data.take(1)[0]
        if byte > 1:
            raise Bad(data.at - 1, f"the byte {byte} is neither true nor false")
        return byte == 1


class Digits(Number):
    """bytes or fixed with the logical type decimal: a big-endian number."""

    powers: ClassVar = [10**exponent for exponent in range(39)]

    def __init__(self, arrow: pa.DataType, size: int | None, scale: int) -> None:
        self.arrow, self.scale = arrow, scale
        self.span = Span(pa.binary(), size)
        self.smallest = self.span.smallest
        self.limit = self.powers[arrow.precision]

    def skip(self, at: Cursor) -> None:
        self.span.skip(at)

    def numbers(self, at: Cursor) -> Any:
        begin, size = self.span.spans(at)
        unsure = (size < 1) | (size > 8)
        at.mark(unsure)
        shift = np.where(unsure, 0, 8 * (8 - size))
        value = (at.buffer.values(">i8")[begin + size - 8].astype(np.int64) << shift) >> shift
        value[unsure] = 0
        if self.limit < 2**63:
            within(at, value, 1 - self.limit, self.limit - 1)
        return value

    def read(self, at: Cursor) -> pa.Array:
        return self._made(self.numbers(at), None)

    def spread(self, at: Cursor, count: int, places: Numbers) -> pa.Array:
        value = np.zeros(count, dtype=np.int64)
        value[places] = self.numbers(at)
        return self._made(value, bitmap(count, places))

    def _made(self, value: Numbers, valid: pa.Buffer | None) -> pa.Array:
        both = np.empty((len(value), 2), dtype=np.int64)
        both[:, 0], both[:, 1] = value, value >> 63
        return pa.Array.from_buffers(self.arrow, len(value), [valid, pa.py_buffer(both)])

    def one(self, data: Bytes) -> Any:
        start, value = data.at, self.span.one(data)
        if not value:
            raise Bad(start, "a decimal without a byte")
        number = int.from_bytes(value, "big", signed=True)
        if abs(number) >= self.limit:
            raise Bad(start, f"a decimal of more than {self.arrow.precision} digits")
        return Decimal((number < 0, tuple(map(int, str(abs(number)))), -self.scale))
