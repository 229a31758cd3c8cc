"""How each plain Avro type is read: from all records at once, and from one.

Both ways must come to the same: `read` marks what it cannot be sure of as odd, and `one` decides.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID

import numpy as np
import pyarrow as pa

from penstock.formats.avro.bytes import Bad, Bytes
from penstock.formats.avro.cursor import Cursor
from penstock.rows import Numbers

INT32 = (-(2**31), 2**31 - 1)
FIRST_DAY, LAST_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31, the days that a table's readers agree on."""
FIRST_MICRO, LAST_MICRO = FIRST_DAY * 86_400_000_000, (LAST_DAY + 1) * 86_400_000_000 - 1
TIME = pa.timestamp("us", "UTC")


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
            _within(at, value, *INT32)
        return value

    def one(self, data: Bytes) -> Any:
        value = data.long() if self.long else data.int32()
        return float(value) if pa.types.is_floating(self.arrow) else value


def _within(at: Cursor, value: Numbers, low: int, high: int) -> None:
    if len(value) and (int(value.min()) < low or int(value.max()) > high):
        wrong = (value < low) | (value > high)
        at.mark(wrong)
        value[wrong] = 0


class Date(Number):
    """int with the logical type date."""

    def __init__(self) -> None:
        super().__init__(pa.date32())

    def numbers(self, at: Cursor) -> Any:
        value = at.long()
        _within(at, value, FIRST_DAY, LAST_DAY)
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
        _within(at, value, -(-FIRST_MICRO // self.factor), LAST_MICRO // self.factor)
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
        return (at.buffer.doubles() if self.double else at.buffer.floats())[places]

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
        taken = np.zeros(count, dtype=np.int64)
        taken[places] = np.arange(0, 2 * len(begin), 2)
        wanted = pa.Array.from_buffers(pa.int64(), count, [bitmap(count, places), pa.py_buffer(taken)])
        return self._made(at, begin, size, wanted)

    def _made(self, at: Cursor, begin: Numbers, size: Numbers, wanted: pa.Array) -> pa.Array:
        """An array of values and the gaps between them, of which Arrow takes the values."""
        made = self._taken(at, begin, size, wanted)
        if not pa.types.is_string(self.arrow):
            return made
        try:
            return made.cast(self.arrow)
        except pa.ArrowInvalid:
            wrong = np.array([not _is_text(one) for one in _slices(at, begin, size)], dtype=np.bool_)
            at.mark(wrong)
            return self._taken(at, begin, np.where(wrong, 0, size), wanted).cast(self.arrow)

    def _taken(self, at: Cursor, begin: Numbers, size: Numbers, wanted: pa.Array) -> pa.Array:
        count = len(begin)
        offsets = np.empty(2 * count + 1, dtype=np.int32)
        offsets[0 : 2 * count : 2] = begin
        offsets[1 : 2 * count : 2] = begin + size
        offsets[-1] = offsets[-2] if count else 0
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(at.buffer.bytes)]
        return pa.Array.from_buffers(pa.binary(), 2 * count, buffers).take(wanted)

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


def _is_text(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


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
        _within(at, number, 0, len(self.symbols) - 1)
        return number

    def read(self, at: Cursor) -> pa.Array:
        number = self._numbers(at)
        return self.texts.take(pa.array(number)) if self.symbols else pa.nulls(len(number), self.arrow)

    def one(self, data: Bytes) -> Any:
        start, number = data.at, data.int32()
        if not 0 <= number < len(self.symbols):
            raise Bad(start, f"symbol {number} of an enum that has {len(self.symbols)}")
        return self.symbols[number]


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
        value = (at.buffer.numbers()[begin + size - 8].astype(np.int64) << shift) >> shift
        value[unsure] = 0
        if self.limit < 2**63:
            _within(at, value, 1 - self.limit, self.limit - 1)
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
