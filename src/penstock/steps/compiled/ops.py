"""An expression at work: over a batch it gives a value for each row, and says on which rows it raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.rows import SOURCE, Mask, Rows
from penstock.worker.crossing import CARRIED


class NotCompiled(Exception):
    """This expression is Spark's. The text says what in it could not be compiled."""


@dataclass(frozen=True)
class Value:
    """What an expression gave. On rows where it raised, `data` may hold anything."""

    data: Any
    """An Arrow array with a value for each row, or one scalar for all of them."""
    raised: Mask | None = None
    """The rows on which Spark would have raised an error; None where there is none."""


class Scope:
    """What an expression may name: the data of some rows, and penstock's own columns."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: str) -> pa.Array:
        if name in CARRIED:
            source, kind = self.rows.source, SOURCE.field(CARRIED[name]).type
            there = CARRIED[name] in source.schema.names
            return source[CARRIED[name]].cast(kind) if there else pa.nulls(len(self), kind)
        return self.rows.data[name]


@dataclass(frozen=True)
class Op:
    """Picklable; made once, before the first batch."""

    type: pa.DataType
    raises: bool
    """May it raise, on some row?"""
    strict: bool
    """Is a column in it whose null makes it null? Then Spark cannot know it to be never null."""

    def of(self, scope: Scope) -> Value:
        raise NotImplementedError


@dataclass(frozen=True)
class Column(Op):
    """A column as it is."""

    name: str

    def of(self, scope: Scope) -> Value:
        return Value(scope.column(self.name))


@dataclass(frozen=True)
class Literal(Op):
    """A value that Spark worked out before the first batch."""

    value: pa.Scalar

    def of(self, scope: Scope) -> Value:
        return Value(self.value)


Kernel: TypeAlias = Callable[..., Any]
"""Arrays or scalars in; an array out, or an array and the mask of rows on which it raises. Null in, null out."""


@dataclass(frozen=True)
class Call(Op):
    """A kernel over its arguments."""

    kernel: Kernel
    arguments: tuple[Op, ...]
    every: bool = False
    """Does Spark work out every argument, even after one that is null? An error in those behind it depends on it."""

    def of(self, scope: Scope) -> Value:
        values = self.values(scope)
        data = self.kernel(*(value.data for value in values))
        raised = any_raised(values) if self.every else in_turn(values)
        if isinstance(data, tuple):
            data, own = data
            raised = either(raised, by_row(own, scope))
        return Value(data if data.type == self.type else data.cast(self.type), raised)

    def values(self, scope: Scope) -> list[Value]:
        """What the arguments gave: at least one of them for each row."""
        first, *others = (argument.of(scope) for argument in self.arguments)
        if all(isinstance(value.data, pa.Scalar) for value in (first, *others)):
            first = Value(all_rows(first.data, len(scope)), first.raised)
        return [first, *others]


def call(
    kind: pa.DataType, kernel: Kernel, arguments: Sequence[Op], *, raises: bool = False, every: bool = False
) -> Op:
    """A call that is null where any of its arguments is."""
    inner = any(argument.raises for argument in arguments)
    if all(isinstance(argument, Literal) for argument in arguments):
        raise NotCompiled("it is the same for every row")
    if any(is_null(argument) for argument in arguments):
        if inner:
            raise NotCompiled("Spark may leave out what stands beside a NULL")
        return Literal(kind, False, False, pa.scalar(None, kind))
    strict = any(argument.strict for argument in arguments)
    return Call(kind, raises or inner, strict, kernel, tuple(arguments), every)


def within(op: Op) -> Iterator[Op]:
    """The Op and all those inside it."""
    yield op
    for each in fields(op):
        value = getattr(op, each.name)
        for inner in value if isinstance(value, tuple) else (value,):
            if isinstance(inner, Op):
                yield from within(inner)


def is_null(op: Op) -> bool:
    return isinstance(op, Literal) and not op.value.is_valid


def literal(op: Op, what: str) -> Any:
    """The value of a literal, as Python has it."""
    if not isinstance(op, Literal) or not op.value.is_valid:
        raise NotCompiled(f"{what} is not a plain value")
    return op.value.as_py()


def in_turn(values: Sequence[Value]) -> Mask | None:
    """Where one of them raised, if each is worked out only where none before it is null."""
    raised: Mask | None = None
    reached: Mask | None = None
    for value in values:
        if value.raised is not None:
            raised = either(raised, value.raised if reached is None else value.raised & reached)
        if any(each.raised is not None for each in values):
            reached = both(reached, valid(value.data))
    return raised


def any_raised(values: Sequence[Value]) -> Mask | None:
    raised: Mask | None = None
    for value in values:
        raised = either(raised, value.raised)
    return raised


def either(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one | other


def both(one: Mask | None, other: Mask | None) -> Mask | None:
    """None stands for every row."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def valid(data: Any) -> Mask | None:
    """Which values are not null; None for all."""
    if isinstance(data, pa.Scalar):
        return None if data.is_valid else np.zeros(1, dtype=np.bool_)
    return None if data.null_count == 0 else mask_of(data.is_valid())


def mask_of(data: pa.Array) -> Mask:
    """Where it is TRUE."""
    filled: Mask = (pc.fill_null(data, False) if data.null_count else data).to_numpy(zero_copy_only=False)
    return filled


def by_row(mask: Any, scope: Scope) -> Mask | None:
    """The same for each row, where an argument was one value for all of them."""
    return None if mask is None else np.broadcast_to(mask, len(scope))


def all_rows(data: Any, count: int) -> pa.Array:
    """One value for each row."""
    return pa.repeat(data, count) if isinstance(data, pa.Scalar) else data


def numbers(data: Any) -> Any:
    """As numpy has them; 0 for null."""
    if isinstance(data, pa.Scalar):
        return np.array(data.as_py() if data.is_valid else 0, dtype=data.type.to_pandas_dtype())
    return (pc.fill_null(data, pa.scalar(0, data.type)) if data.null_count else data).to_numpy(zero_copy_only=False)


def like(made: Any, kind: pa.DataType, *given: Any) -> pa.Array:
    """Numbers of numpy's as an array of this type, null where any of the given is."""
    known: Mask | None = None
    for each in given:
        known = both(known, valid(each))
    mask = None if known is None else np.broadcast_to(~known, made.shape)
    return pa.array(made, mask=mask).cast(kind, safe=False)
