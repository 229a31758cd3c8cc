"""The quick way: payloads whose message is in its usual form (wire.py), read without Google's runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.formats.cursor import BEFORE, Buffer, Cursor
from penstock.formats.protobuf.wire import Wire
from penstock.rows import Mask, Numbers

FEW = 100
"""With fewer payloads than this the other way is as quick."""
MOSTLY = 4
"""Where one payload in so many is odd, looking at all of them costs more than it saves..."""
REST = 32
"""...and so many steps are left to the other way before it is tried again."""


class Usual:
    """Reads payloads of one writer's schema."""

    def __init__(self, wire: Wire, head: bytes) -> None:
        self.wire, self.head = wire, head
        """`head`: the message indexes that payloads begin with."""
        self._rest = 0

    def pays(self, count: int) -> bool:
        """Is this step to be tried?"""
        self._rest = max(0, self._rest - 1)
        return count >= FEW and not self._rest

    def read(self, data: Any, starts: Numbers, ends: Numbers) -> tuple[pa.StructArray, Mask]:
        """The shadow's columns, a row for each payload; and which of the rows mean nothing: their payload is odd."""
        first, odd = int(starts[0]), np.zeros(len(starts), dtype=np.bool_)
        at = starts - first + BEFORE
        cursor = Cursor(Buffer(data[first : int(ends[-1])]), at, ends - first + BEFORE, np.arange(len(at)), odd)
        if self.head:
            cursor.mark(~cursor.sees(self.head))
            cursor.step(np.where(odd, 0, len(self.head)))
        found = self.wire.columns(cursor)
        if np.count_nonzero(odd) * MOSTLY > len(odd):
            self._rest = REST
        return pa.StructArray.from_arrays(list(found.values()), names=list(found)), odd


def payloads(data: Any, starts: Numbers, ends: Numbers) -> pa.Array:
    """The bytes at these places, as an array."""
    count = len(starts)
    offsets = np.empty(2 * count + 1, dtype=np.int32)
    offsets[0 : 2 * count : 2], offsets[1 : 2 * count : 2] = starts, ends
    offsets[-1] = offsets[-2] if count else 0
    between = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    return between.take(pa.array(np.arange(0, 2 * count, 2)))


def nulled(array: pa.Array, out: Mask) -> pa.Array:
    """The array with null in these rows. The values themselves are not copied, if they are plain."""
    if pa.types.is_nested(array.type) or array.offset:
        return array.take(pa.array(np.arange(len(array)), mask=out))
    good = ~out if not array.null_count else ~out & array.is_valid().to_numpy(zero_copy_only=False)
    bits = pa.py_buffer(np.packbits(good, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [bits, *array.buffers()[1:]])
