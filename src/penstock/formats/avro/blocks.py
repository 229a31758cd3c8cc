"""How arrays and maps are read: blocks of items, from all records at once, and from one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from penstock.formats.avro.bytes import Bad, Bytes
from penstock.formats.avro.ops import Op
from penstock.formats.avro.spans import Span
from penstock.formats.cursor import Cursor
from penstock.rows import Mask, Numbers

FEW = 32
"""With fewer records than this, one after the other is quicker than all at once."""
MOST_OF_NOTHING = 1_000_000
"""Items of an array that take no bytes: without a bound ten bytes could ask for any amount of memory."""


class Items:
    """The items of arrays or maps: blocks, each with the number of its items before it, until one with none.

    Every round reads one more item of each record that has one. Records that are left with few others are odd: they
    are read by themselves.
    """

    def __init__(self, at: Cursor, smallest: int) -> None:
        self.at, self.smallest = at, smallest
        self.left = np.zeros(len(at), dtype=np.int64)
        self.owners: list[Numbers] = []
        self.waiting: Numbers = np.arange(len(at))
        self.going: Numbers = np.empty(0, dtype=np.int64)
        self.some: Cursor | None = None

    def __iter__(self) -> Items:
        return self

    def __next__(self) -> Cursor:
        """The cursors of the records that have one more item; they are put back when the next round begins."""
        if self.some is not None:
            self.at.back(self.going, self.some)
            self.left[self.going] -= 1
            self.going = self.going[~self.at.odd[self.at.rows[self.going]]]
            done = self.left[self.going] == 0
            self.waiting, self.going = self.going[done], self.going[~done]
        if len(self.waiting):
            begun = self._headers(self.waiting)
            self.going = np.sort(np.concatenate([self.going, begun])) if len(begun) else self.going
        if len(self.going) < FEW:
            self._give_up(self.going)
            raise StopIteration
        self.owners.append(self.going)
        self.some = self.at.some(self.going)
        return self.some

    def _headers(self, places: Numbers) -> Numbers:
        """Read the number of items in the next block; the records that have some."""
        some = self.at.some(places)
        count = some.long()
        back = count < 0
        if back.any():
            sized = np.flatnonzero(back)
            more = some.some(sized)
            more.long()  # the bytes of the block, for those who would skip it
            some.back(sized, more)
            count = np.abs(count)
        bound = (some.end - some.at) // self.smallest if self.smallest else np.int64(FEW * 100)
        wrong = (count > bound) | (count < 0)
        some.mark(wrong)
        count = np.where(wrong | some.odd[some.rows], 0, count)
        self.at.back(places, some)
        self.left[places] = count
        begun: Numbers = places[count > 0]
        return begun

    def _give_up(self, places: Numbers) -> None:
        wrong = np.zeros(len(self.at), dtype=np.bool_)
        wrong[places] = True
        self.at.mark(wrong)

    def order(self) -> tuple[Any, Any]:
        """Where the items of each record begin; and the items' order, from that of the rounds."""
        owners = np.concatenate(self.owners) if self.owners else np.empty(0, dtype=np.int64)
        offsets = np.zeros(len(self.at) + 1, dtype=np.int32)
        np.cumsum(np.bincount(owners, minlength=len(self.at)), out=offsets[1:])
        return offsets, np.argsort(owners, kind="stable")


class Blocks(Op):
    """What arrays and maps share: blocks of items."""

    smallest = 1
    item_size = 0

    def counts(self, data: Bytes) -> Any:
        """The number of items of each block, one after the other. Whoever asks has read the items before."""
        nothing = 0
        while True:
            start, count = data.at, data.long()
            if count < 0:
                count = -count
                data.long()
            if count == 0:
                return
            if self.item_size and count > data.left // self.item_size:
                raise Bad(start, f"{count} items are due, and {data.left} bytes are left")
            nothing += 0 if self.item_size else count
            if nothing > MOST_OF_NOTHING:
                raise Bad(start, f"{nothing} items that take no bytes")
            yield count


class Array(Blocks):
    def __init__(self, arrow: pa.DataType, item: Op) -> None:
        self.arrow, self.item, self.item_size = arrow, item, item.smallest

    def read(self, at: Cursor) -> pa.Array:
        items = Items(at, self.item.smallest)
        chunks = [self.item.read(some) for some in items]
        offsets, order = items.order()
        values = pa.concat_arrays(chunks) if chunks else pa.nulls(0, self.arrow.value_type)
        return pa.ListArray.from_arrays(pa.array(offsets), values.take(pa.array(order)), type=self.arrow)

    def skip(self, at: Cursor) -> None:
        for some in Items(at, self.item.smallest):
            self.item.skip(some)

    def one(self, data: Bytes) -> Any:
        made: list[Any] = []
        for count in self.counts(data):
            for _ in range(count):
                try:
                    made.append(self.item.one(data))
                except Bad as bad:
                    raise bad.below(len(made)) from None
        return made


class Map(Blocks):
    def __init__(self, arrow: pa.DataType, item: Op) -> None:
        self.arrow, self.key, self.item = arrow, Span(pa.string()), item
        self.item_size = 1 + item.smallest

    def read(self, at: Cursor) -> pa.Array:
        items = Items(at, self.item_size)
        keys, values = [], []
        for some in items:
            keys.append(self.key.read(some))
            values.append(self.item.read(some))
        offsets, order = items.order()
        if not keys:
            keys, values = [pa.nulls(0, pa.string())], [pa.nulls(0, self.arrow.item_type)]
        wanted = pa.array(order)
        named = pa.concat_arrays(keys).take(wanted)
        at.mark(_twice(named, offsets, len(at)))
        return pa.MapArray.from_arrays(pa.array(offsets), named, pa.concat_arrays(values).take(wanted), type=self.arrow)

    def skip(self, at: Cursor) -> None:
        for some in Items(at, self.item_size):
            self.key.skip(some)
            self.item.skip(some)

    def one(self, data: Bytes) -> Any:
        made: dict[str, Any] = {}
        for count in self.counts(data):
            for _ in range(count):
                name = self.key.one(data)
                made.pop(name, None)  # the last of several counts
                try:
                    made[name] = self.item.one(data)
                except Bad as bad:
                    raise bad.below(name) from None
        return list(made.items())


def _twice(keys: pa.Array, offsets: Numbers, count: int) -> Mask:
    """The records that have a key twice: which value counts, only a look at each can tell."""
    codes = keys.dictionary_encode()
    owners = np.repeat(np.arange(count), np.diff(offsets))
    pairs = owners * max(1, len(codes.dictionary)) + codes.indices.to_numpy(zero_copy_only=False)
    found, first = np.unique(pairs, return_index=True)
    wrong = np.zeros(count, dtype=np.bool_)
    if len(found) < len(pairs):
        again = np.ones(len(pairs), dtype=np.bool_)
        again[first] = False
        wrong[owners[again]] = True
    return wrong
