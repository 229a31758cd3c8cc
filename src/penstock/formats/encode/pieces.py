"""Bytes of whole columns: each value of an array becomes its piece of the record, and pieces are joined row by row.

No row becomes a Python object. A function of this kind is given an array without nulls and gives as many pieces, and
the values that cannot be said; `sparse` lets it be used on one with nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.encode.contract import Encoded, Flaw

PIECE_BYTES = 32 * 2**20
"""Rows are encoded in pieces of about this size: Arrow's arrays of bytes hold at most 2 GB."""
Numbers: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
Pieces: TypeAlias = "tuple[pa.Array, list[Flaw]]"
Write: TypeAlias = Callable[[Any], Pieces]
STEPS = np.array([1 << (7 * size) for size in range(1, 10)], np.uint64)


def from_numpy(data: Numbers, offsets: Numbers) -> pa.Array:
    """An array of bytes: these, cut at these places."""
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(np.ascontiguousarray(data, np.uint8))]
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, buffers)


def varints(numbers: Numbers) -> pa.Array:
    """Unsigned numbers as varints."""
    whole = numbers.astype(np.uint64)
    sizes = np.searchsorted(STEPS, whole, side="right") + 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    data = np.empty(int(offsets[-1]), np.uint8)
    for place in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > place)
        part = (whole[rows] >> np.uint64(7 * place)) & np.uint64(127)
        more = (sizes[rows] > place + 1).astype(np.uint8) << 7
        data[offsets[rows] + place] = part.astype(np.uint8) | more
    return from_numpy(data, offsets)


def zigzag(numbers: Numbers) -> Numbers:
    """Signed numbers as the unsigned ones that stand for them."""
    whole = numbers.astype(np.int64)
    found: Numbers = ((whole << 1) ^ (whole >> 63)).view(np.uint64)
    return found


def fixed(numbers: Numbers) -> pa.Array:
    """The bytes of numbers, lowest first."""
    size = numbers.dtype.itemsize
    ordered = np.ascontiguousarray(numbers.astype(numbers.dtype.newbyteorder("<")))
    return from_numpy(ordered.view(np.uint8), np.arange(len(numbers) + 1) * size)


def sized(pieces: pa.Array, coded: Callable[[Numbers], Numbers] = lambda sizes: sizes) -> pa.Array:
    """Each piece behind its length."""
    return joined(varints(coded(pc.binary_length(pieces).to_numpy())), pieces)


def joined(*parts: Any) -> pa.Array:
    """Pieces and constant bytes, put together row by row; null where one of them is."""
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()))


def constant(data: bytes) -> Any:
    return pa.scalar(data, pa.binary())


def repeated(data: bytes, count: int) -> pa.Array:
    return pa.repeat(constant(data), count)


def numbers_of(array: Any) -> Numbers:
    found: Numbers = array.to_numpy(zero_copy_only=False)
    return found


def as_bytes(array: Any) -> Pieces:
    """Texts and bytes as they are."""
    return array.cast(pa.binary()), []


def sparse(array: Any, write: Write) -> Pieces:
    """The pieces of an array that may have nulls; null where it has."""
    if not array.null_count:
        return write(array)
    rows = np.flatnonzero(numbers_of(array.is_valid()))
    pieces, flaws = write(array.drop_null())
    places = np.full(len(array), -1, np.int64)
    places[rows] = np.arange(len(rows))
    spread = pieces.take(pa.array(places, mask=places < 0))
    return spread, [flaw._replace(row=int(rows[flaw.row])) for flaw in flaws]


def present(array: Any, write: Write, why: str) -> Pieces:
    """The pieces of an array whose nulls are flaws."""
    pieces, flaws = sparse(array, write)
    if not pieces.null_count:
        return pieces, flaws
    missing = np.flatnonzero(numbers_of(pieces.is_null()))
    flaws = [*flaws, *(Flaw(int(row), "", why) for row in missing)]
    return pc.fill_null(pieces, constant(b"")), flaws


def elements(array: Any) -> tuple[Any, Numbers]:
    """The elements of lists or maps (those of a map as structs), and where each list begins among them."""
    kind = array.type
    if pa.types.is_map(kind):
        pair = pa.struct([kind.key_field, kind.item_field])
        array = array.cast(pa.list_(pa.field("entries", pair, nullable=False)))
    lengths = numbers_of(pc.list_value_length(array))
    return array.flatten(), np.concatenate([[0], np.cumsum(lengths)])


def gathered(pieces: pa.Array, starts: Numbers) -> pa.Array:
    """The pieces of each list, put together."""
    lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pieces)
    return pc.binary_join(lists, constant(b""))


def above(flaws: list[Flaw], starts: Numbers) -> list[Flaw]:
    """Flaws of elements as flaws of the lists that hold them."""
    found = []
    for flaw in flaws:
        row = int(np.searchsorted(starts, flaw.row, side="right")) - 1
        found.append(Flaw(row, f"/{flaw.row - int(starts[row])}{flaw.field}", flaw.detail))
    return found


def below(flaws: list[Flaw], name: str) -> list[Flaw]:
    return [flaw._replace(field=f"/{name}{flaw.field}") for flaw in flaws]


def micros(array: Any) -> Numbers:
    """Times as microseconds since 1970, UTC."""
    return numbers_of(array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.int64()))


def in_parts(rows: pa.RecordBatch, write: Callable[[pa.RecordBatch], Pieces]) -> Encoded:
    """Encode rows in parts that Arrow can hold."""
    made = [(start, *write(part)) for start, part in _parts(rows)]
    flaws = [flaw._replace(row=flaw.row + start) for start, _, found in made for flaw in found]
    values = made[0][1] if len(made) == 1 else pa.concat_arrays([pieces for _, pieces, _ in made])
    return Encoded(values, sorted(flaws))


def _parts(rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
    step = max(1, rows.num_rows * PIECE_BYTES // max(1, rows.nbytes))
    for start in range(0, max(1, rows.num_rows), step):
        yield start, rows.slice(start, step)
