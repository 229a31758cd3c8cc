"""Messages put behind one another, as one message that repeats them: Google's runtime reads them at one stroke.

It makes no Python object for each then. Where it refuses some, the others are read all the same, and once: parts of the
messages are added to what was read so far, and a part that is refused is taken back and tried in smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.protobuf.indexes import varint
from penstock.rows import Numbers

PARTS = 32
"""Into so many a part is split that was refused. A few bad ones among thousands cost one more reading of all then."""


class Joined:
    """Messages of one type, in order."""

    def __init__(self, bodies: pa.Array) -> None:
        self.bodies = bodies
        self.data, self.places = _wrapped(bodies)

    def __len__(self) -> int:
        return len(self.bodies)

    def body(self, place: int) -> bytes:
        found: bytes = self.bodies[place].as_py()
        return found

    def without(self, places: Sequence[int]) -> Joined:
        if not places:
            return self
        return Joined(self.bodies.take(pa.array(np.delete(np.arange(len(self)), places))))

    def parsed(self, kind: Any) -> tuple[Any, list[int]]:
        """Those that can be read, as one message of this `kind`; and the places of the others."""
        batch, refused = kind(), list[int]()
        self._read(batch, 0, len(self), refused)
        return batch, refused

    def _read(self, batch: Any, first: int, last: int, refused: list[int]) -> None:
        before = len(batch.rows)
        if _takes(batch, self.data[self.places[first] : self.places[last]]):
            return
        del batch.rows[before:]
        if last - first == 1:
            refused.append(first)
            return
        step = -(-(last - first) // PARTS)
        for start in range(first, last, step):
            self._read(batch, start, min(start + step, last), refused)


def _takes(batch: Any, data: bytes) -> bool:
    """Add these messages to the batch. Where that is refused, the last of them may be there, or half there."""
    from google.protobuf.message import DecodeError

    try:
        batch.MergeFromString(data)
    except DecodeError:
        return False
    return True


def _wrapped(bodies: pa.Array) -> tuple[bytes, Numbers]:
    """Each message behind its tag and its length; and where each begins, and the last one ends."""
    coded = pc.binary_length(bodies).dictionary_encode()
    heads = pa.array([b"\x0a" + varint(size) for size in coded.dictionary.to_pylist()], pa.binary())
    joined = pc.binary_join_element_wise(heads.take(coded.indices), bodies.cast(pa.binary()), b"")
    _, offsets, data = joined.buffers()
    places = np.frombuffer(offsets, np.int32)[joined.offset : joined.offset + len(joined) + 1].astype(np.int64)
    whole: bytes = data.slice(int(places[0]), int(places[-1] - places[0])).to_pybytes()
    return whole, places - places[0]
