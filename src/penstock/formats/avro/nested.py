"""How records and unions are read: from all records at once, and from one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.formats.avro.bytes import Bad, Bytes
from penstock.formats.avro.ops import Op
from penstock.formats.cursor import Cursor
from penstock.rows import Numbers


class Record(Op):
    """The writer's fields in their order; each is read into a field of the row, or skipped."""

    def __init__(self, arrow: pa.DataType, parts: Sequence[tuple[str, Op, int | None]], given: dict[int, Op]) -> None:
        self.arrow = arrow
        self.parts = parts
        """Name of the writer's field, how it is read, and which field of the row it is; None: skipped."""
        self.given = given
        """Fields of the row that the writer does not have."""
        self.smallest = sum(op.smallest for _, op, _ in parts)

    def columns(self, at: Cursor) -> list[pa.Array]:
        made: dict[int, pa.Array] = {}
        for _, op, place in self.parts:
            if place is None:
                op.skip(at)
            else:
                made[place] = op.read(at)
        made |= {place: op.read(at) for place, op in self.given.items()}
        return [made[place] for place in range(len(made))]

    def read(self, at: Cursor) -> pa.Array:
        return pa.StructArray.from_arrays(self.columns(at), fields=list(self.arrow))

    def skip(self, at: Cursor) -> None:
        for _, op, _ in self.parts:
            op.skip(at)

    def values(self, data: Bytes) -> list[Any]:
        """One record's values, in the order of the row's fields."""
        made = {place: op.one(data) for place, op in self.given.items()}
        for name, op, place in self.parts:
            try:
                value = op.one(data)
            except Bad as bad:
                raise bad.below(name) from None
            if place is not None:
                made[place] = value
        return [made[place] for place in range(len(made))]

    def one(self, data: Bytes) -> Any:
        return dict(zip([field.name for field in self.arrow], self.values(data), strict=True))


class Nothing(Op):
    """The branch `null`, or a field that can only be null: no bytes, no value."""

    def __init__(self, arrow: pa.DataType) -> None:
        self.arrow = arrow

    def read(self, at: Cursor) -> pa.Array:
        return pa.nulls(len(at), self.arrow)

    def one(self, data: Bytes) -> Any:
        return None


class Misfit(Op):
    """A branch of the writer's union that the row's type cannot hold: records that have it are bad."""

    def __init__(self, arrow: pa.DataType, why: str) -> None:
        self.arrow, self.why = arrow, why

    def read(self, at: Cursor) -> pa.Array:
        at.mark(np.ones(len(at), dtype=np.bool_))
        return pa.nulls(len(at), self.arrow)

    def one(self, data: Bytes) -> Any:
        raise Bad(data.at, self.why)


class Union(Op):
    """The number of a branch, then a value of it."""

    def __init__(self, arrow: pa.DataType, branches: Sequence[Op]) -> None:
        self.arrow, self.branches = arrow, branches
        self.smallest = 1 + min(branch.smallest for branch in branches)

    def _chosen(self, at: Cursor) -> tuple[Numbers, list[int]]:
        number = at.long()
        wrong = (number < 0) | (number >= len(self.branches))
        if wrong.any():
            at.mark(wrong)
            number = np.where(wrong, 0, number)
        counts = np.bincount(number, minlength=len(self.branches))
        return number, np.flatnonzero(counts).tolist()

    def read(self, at: Cursor) -> pa.Array:
        number, present = self._chosen(at)
        if not present:
            return pa.nulls(0, self.arrow)
        if len(present) == 1:
            return self.branches[present[0]].read(at)
        full = [branch for branch in present if not isinstance(self.branches[branch], Nothing)]
        if len(full) == 1:
            return self._sparse(at, np.flatnonzero(number == full[0]), self.branches[full[0]])
        return self._mixed(at, number, present)

    def _sparse(self, at: Cursor, places: Numbers, branch: Op) -> pa.Array:
        some = at.some(places)
        made = branch.spread(some, len(at), places)
        at.back(places, some)
        return made

    def _mixed(self, at: Cursor, number: Numbers, present: list[int]) -> pa.Array:
        parts, order = [], []
        for branch in present:
            places = np.flatnonzero(number == branch)
            some = at.some(places)
            parts.append(self.branches[branch].read(some))
            at.back(places, some)
            order.append(places)
        back = np.empty(len(at), dtype=np.int64)
        back[np.concatenate(order)] = np.arange(len(at))
        return pa.concat_arrays(parts).take(pa.array(back))

    def skip(self, at: Cursor) -> None:
        number, present = self._chosen(at)
        for branch in present:
            places = np.flatnonzero(number == branch)
            some = at.some(places)
            self.branches[branch].skip(some)
            at.back(places, some)

    def one(self, data: Bytes) -> Any:
        start, number = data.at, data.long()
        if not 0 <= number < len(self.branches):
            raise Bad(start, f"branch {number} of a union that has {len(self.branches)}")
        return self.branches[number].one(data)


class Member(Op):
    """A value that is one field of a struct: the others are null, because only one branch of a union has a value."""

    def __init__(self, arrow: pa.DataType, place: int, inner: Op) -> None:
        self.arrow, self.place, self.inner = arrow, place, inner
        self.smallest = inner.smallest

    def read(self, at: Cursor) -> pa.Array:
        value = self.inner.read(at)
        arrays = [
            value if place == self.place else pa.nulls(len(at), field.type) for place, field in enumerate(self.arrow)
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(self.arrow))

    def skip(self, at: Cursor) -> None:
        self.inner.skip(at)

    def one(self, data: Bytes) -> Any:
        return {self.arrow[self.place].name: self.inner.one(data)}
