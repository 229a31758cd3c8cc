"""Where each record of a batch is being read: one cursor a record, all of them moved at once.

A record that cannot be read on is marked odd and its cursor put at its end: what is read there is worth nothing and is
looked at again, record by record (avro/bytes.py, protobuf/columns.py). Cursors never leave their record: nothing is
read beyond its bytes.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from penstock.rows import Mask, Numbers

Bytes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"
Words: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"

BEFORE, BEHIND = 8, 16
"""Bytes of nothing around the data, so that eight can be taken from anywhere."""
_STOP = np.uint64(0x8080808080808080)
_SEVEN = np.uint64(0x7F7F7F7F7F7F7F7F)
_PACK = [
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
]
"""Masks and shifts that bring groups of seven bits together, pairwise."""
ONE = np.uint64(1)


class Buffer:
    """The bytes of a batch, to be read one, four or eight at a time from any place."""

    def __init__(self, data: Bytes) -> None:
        self.bytes = np.zeros(BEFORE + len(data) + BEHIND, dtype=np.uint8)
        self.bytes[BEFORE : BEFORE + len(data)] = data
        self.words: Words = self.values("<u8")

    def values(self, kind: str) -> Any:
        """At each byte the value that begins there."""
        dtype = np.dtype(kind)
        return np.ndarray((len(self.bytes) - dtype.itemsize + 1,), dtype, self.bytes, strides=(1,))


class Cursor:
    """Cursors of some of the records."""

    def __init__(self, buffer: Buffer, at: Numbers, end: Numbers, rows: Numbers, odd: Mask) -> None:
        self.buffer, self.at, self.end, self.rows, self.odd = buffer, at, end, rows, odd

    def __len__(self) -> int:
        return len(self.at)

    def some(self, places: Numbers) -> Cursor:
        """The cursors at these places, to be moved and put `back`."""
        return Cursor(self.buffer, self.at[places], self.end[places], self.rows[places], self.odd)

    def back(self, places: Numbers, moved: Cursor) -> None:
        self.at[places] = moved.at

    def mark(self, wrong: Mask) -> None:
        """These cannot be read on."""
        if wrong.any():
            self.odd[self.rows[wrong]] = True
            self.at[wrong] = self.end[wrong]

    def sees(self, tag: bytes) -> Mask:
        """Which records go on with these bytes."""
        has: Mask = self.at < self.end
        for place, byte in enumerate(tag):
            has &= self.buffer.bytes[self.at + place if place else self.at] == byte
        return has

    def skip(self, count: int) -> None:
        """Move on by so many bytes that were seen. What is read next finds out whether they were the record's own."""
        self.at = self.at + count

    def step(self, count: Numbers | int) -> Numbers:
        """Move on by so many bytes; where the cursors were. A record that has not so many is odd."""
        at = self.at
        self.at = at + count
        wrong = self.at > self.end
        if wrong.any():
            self.mark(wrong)
            at = np.where(wrong, self.end, at)
        return at

    def long(self) -> Numbers:
        """A number of variable length from each record, the sign in its lowest bit."""
        return unzigzag(self.varint())

    def varint(self) -> Words:
        """A number of variable length from each record: seven bits to a byte, the lowest first."""
        first = self.buffer.bytes[self.at]
        if first.size == 0 or int(first.max()) < 0x80:
            self.step(1)
            return first.astype(np.uint64)
        return self._many()

    def _many(self) -> Words:
        word = self.buffer.words[self.at]
        stop = ~word & _STOP
        low = stop & (~stop + ONE)
        mask = low | (low - ONE)
        value: Words = word & mask & _SEVEN
        for keep, move, shift in _PACK:
            value = (value & keep) | ((value & move) >> shift)
        size = (np.bitwise_count(mask) >> 3).astype(np.int64)
        endless = stop == 0
        if endless.any():
            self._longest(value, size, endless)
        self.step(size)
        return value

    def _longest(self, value: Words, size: Numbers, which: Mask) -> None:
        """The ninth and tenth byte, of those that have them. More bytes, or more bits than 64, are odd."""
        at = self.at[which] + 8
        ninth, tenth = (self.buffer.bytes[at + more].astype(np.uint64) for more in (0, 1))
        goes_on = ninth >= 0x80
        value[which] |= ((ninth & np.uint64(0x7F)) << np.uint64(56)) | np.where(
            goes_on, (tenth & ONE) << np.uint64(63), np.uint64(0)
        )
        size[which] = np.where(goes_on, 10, 9)
        wrong = np.zeros(len(self), dtype=np.bool_)
        wrong[which] = goes_on & (tenth > 1)
        self.mark(wrong)

    def sized(self) -> tuple[Numbers, Numbers]:
        """The bytes of a text or a blob, their number before them as Avro writes it: where they begin, how many."""
        return self.spans(self.long())

    def spans(self, size: Numbers) -> tuple[Numbers, Numbers]:
        """So many bytes of each record: where they begin, and how many they are. One that has not so many is odd."""
        wrong = (size < 0) | (size > self.end - self.at)
        if wrong.any():
            self.mark(wrong)
            size = np.where(wrong, 0, size)
        at = self.at
        self.at = at + size
        return at, size


def unzigzag(value: Words) -> Numbers:
    """Numbers whose sign stands in the lowest bit."""
    number: Numbers = ((value >> ONE) ^ (~(value & ONE) + ONE)).view(np.int64)
    return number
