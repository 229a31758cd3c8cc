"""Stretches of a batch's bytes, wherever they lie, as Arrow values; and whether bytes are text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from penstock.formats.cursor import Cursor
from penstock.rows import Numbers


def taken(at: Cursor, begin: Numbers, size: Numbers, wanted: pa.Array) -> pa.Array:
    """An array of the stretches and the gaps between them, of which Arrow takes the `wanted`: the stretches are its
    even places."""
    count = len(begin)
    offsets = np.empty(2 * count + 1, dtype=np.int32)
    offsets[0 : 2 * count : 2] = begin
    offsets[1 : 2 * count : 2] = begin + size
    offsets[-1] = offsets[-2] if count else 0
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(at.buffer.bytes)]
    return pa.Array.from_buffers(pa.binary(), 2 * count, buffers).take(wanted)


def is_text(value: bytes) -> bool:
    """Are these bytes UTF-8?"""
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
