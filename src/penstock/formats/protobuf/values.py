"""How the values of one field are read, from all messages of a batch at once. See wire.py.

What is read are columns of the shadow: numbers, texts and bytes, structs of those. Where a field is not there it is
null if its schema can tell, and else its default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from penstock.formats.cursor import Cursor, unzigzag
from penstock.formats.spans import is_text, taken
from penstock.rows import Mask, Numbers


class Reading(Protocol):
    def read(self, at: Cursor, tag: int, has: Mask | None) -> pa.Array:
        """The values behind a tag of so many bytes. `has` says which messages have one; None: all of them."""
        ...


class Kind(NamedTuple):
    """A type of numbers."""

    arrow: pa.DataType
    fixed: str = ""
    """As numpy calls it, where all have one width; else they are varints."""
    zigzag: bool = False
    bounds: tuple[int, int] | None = None
    """A varint beyond is odd: Google's runtime cuts it."""


INT32 = (-(2**31), 2**31 - 1)
KINDS = {
    1: Kind(pa.float64(), "<f8"),
    2: Kind(pa.float32(), "<f4"),
    3: Kind(pa.int64()),
    4: Kind(pa.uint64()),
    5: Kind(pa.int32(), bounds=INT32),
    6: Kind(pa.uint64(), "<u8"),
    7: Kind(pa.uint32(), "<u4"),
    8: Kind(pa.bool_(), bounds=(0, 1)),
    13: Kind(pa.uint32(), bounds=(0, 2**32 - 1)),
    14: Kind(pa.int32(), bounds=INT32),
    15: Kind(pa.int32(), "<i4"),
    16: Kind(pa.int64(), "<i8"),
    17: Kind(pa.int32(), zigzag=True, bounds=INT32),
    18: Kind(pa.int64(), zigzag=True),
}
"""Number of a type in a descriptor -> how it is read."""


class Number:
    """Numbers, true and false, and the numbers of an enum; of a closed one only those that it names."""

    def __init__(self, kind: Kind, presence: bool, named: tuple[int, ...] = ()) -> None:
        self.kind, self.presence = kind, presence
        self.named = np.array(named, dtype=np.int64) if named else None
        self.dtype = np.dtype(kind.arrow.to_pandas_dtype())

    def read(self, at: Cursor, tag: int, has: Mask | None) -> pa.Array:
        if has is None:
            at.skip(tag)
            made = np.ascontiguousarray(self._numbers(at), dtype=self.dtype)
        else:
            places = np.flatnonzero(has)
            some = at.some(places)
            some.skip(tag)
            made = np.zeros(len(at), dtype=self.dtype)
            made[places] = self._numbers(some)
            at.back(places, some)
        values = np.packbits(made, bitorder="little") if self.dtype == np.bool_ else made
        return pa.Array.from_buffers(self.kind.arrow, len(made), [_bits(has, self.presence), pa.py_buffer(values)])

    def _numbers(self, at: Cursor) -> Any:
        kind = self.kind
        if kind.fixed:
            return at.buffer.values(kind.fixed)[at.step(np.dtype(kind.fixed).itemsize)]
        bits = at.varint()
        value = unzigzag(bits) if kind.zigzag else bits if kind.arrow == pa.uint64() else bits.view(np.int64)
        if kind.bounds is not None and len(value):
            least, most = kind.bounds
            if int(value.min()) < least or int(value.max()) > most:
                at.mark((value < least) | (value > most))
        if self.named is not None:
            at.mark(~np.isin(value, self.named))
        return value


class Span:
    """Texts and bytes."""

    def __init__(self, presence: bool, *, text: bool) -> None:
        self.presence, self.text = presence, text

    def read(self, at: Cursor, tag: int, has: Mask | None) -> pa.Array:
        begin, size = _spans(at, tag, has)
        valid = _bits(has, self.presence)
        made = _taken(at, begin, size, valid)
        if not self.text:
            return made
        if _is_ascii(made):
            return pa.Array.from_buffers(pa.string(), len(made), made.buffers())
        try:
            return made.cast(pa.string())
        except pa.ArrowInvalid:
            wrong = np.array([each is not None and not is_text(each) for each in made.to_pylist()], dtype=np.bool_)
            at.mark(wrong)
            return _taken(at, begin, np.where(wrong, 0, size), valid).cast(pa.string())


class Inner:
    """Messages inside. One that is not there is read as one without fields, below a null."""

    def __init__(self, columns: Callable[[Cursor], dict[str, pa.Array]], wanted: bool) -> None:
        self.columns, self.wanted = columns, wanted

    def read(self, at: Cursor, tag: int, has: Mask | None) -> pa.Array:
        begin, size = _spans(at, tag, has)
        found = self.columns(Cursor(at.buffer, begin, begin + size, at.rows, at.odd))
        if not self.wanted:
            return pa.nulls(len(at))
        mask = None if has is None else pa.array(~has)
        return pa.StructArray.from_arrays(list(found.values()), names=list(found), mask=mask)


def _spans(at: Cursor, tag: int, has: Mask | None) -> tuple[Numbers, Numbers]:
    """Where the bytes of each value begin, and how many they are; none where there is no value."""
    if has is None:
        at.skip(tag)
        return at.spans(at.varint().view(np.int64))
    places = np.flatnonzero(has)
    some = at.some(places)
    some.skip(tag)
    begin, size = at.at.copy(), np.zeros(len(at), dtype=np.int64)
    begin[places], size[places] = some.spans(some.varint().view(np.int64))
    at.back(places, some)
    return begin, size


def _taken(at: Cursor, begin: Numbers, size: Numbers, valid: pa.Buffer | None) -> pa.Array:
    """All of these values; null where a bit of `valid` is missing."""
    count = len(begin)
    wanted = pa.Array.from_buffers(pa.int64(), count, [valid, pa.py_buffer(np.arange(0, 2 * count, 2))])
    return taken(at, begin, size, wanted)


def _bits(has: Mask | None, presence: bool) -> pa.Buffer | None:
    """Arrow's bits for what is not null; None where nothing is."""
    return pa.py_buffer(np.packbits(has, bitorder="little")) if presence and has is not None else None


def _is_ascii(made: pa.Array) -> bool:
    """All of them, without exception: then they are text. Found in a tenth of the time that UTF-8 takes."""
    data = made.buffers()[2]
    return data is None or not data.size or int(np.frombuffer(data, dtype=np.uint8).max()) < 0x80
