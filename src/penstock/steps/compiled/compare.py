"""Comparisons and IN. Texts and bytes compare byte by byte; NaN equals itself and is the largest number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.casts import midnight
from penstock.steps.compiled.ops import Call, Kernel, Literal, NotCompiled, Op, call
from penstock.steps.compiled.tree import Node
from penstock.steps.compiled.types import is_plain, is_real

FEW = 10
"""Up to so many values Spark compares one after the other; more it looks up in a set."""


def equal_reals(one: Any, other: Any) -> Any:
    return pc.or_(pc.equal(one, other), pc.and_(pc.is_nan(one), pc.is_nan(other)))


def less_reals(one: Any, other: Any) -> Any:
    """NaN is larger than all else; -0.0 equals 0.0."""
    return pc.or_(pc.less(one, other), pc.and_(pc.invert(pc.is_nan(one)), pc.is_nan(other)))


def less_or_equal_reals(one: Any, other: Any) -> Any:
    return pc.or_(pc.less_equal(one, other), pc.is_nan(other))


def turned(kernel: Any, one: Any, other: Any) -> Any:
    return kernel(other, one)


PLAIN = {
    "EqualTo": pc.equal, "LessThan": pc.less, "LessThanOrEqual": pc.less_equal, "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
}  # fmt: skip
REALS: dict[str, Kernel] = {
    "EqualTo": equal_reals, "LessThan": less_reals, "LessThanOrEqual": less_or_equal_reals,
    "GreaterThan": partial(turned, less_reals), "GreaterThanOrEqual": partial(turned, less_or_equal_reals),
}  # fmt: skip


def _comparison(node: Node, given: Sequence[Op]) -> Op:
    _comparable(node, given)
    kernels = REALS if is_real(given[0].type) else PLAIN
    return call(pa.bool_(), kernels[node.kind], given)


def _null_safe(node: Node, given: Sequence[Op]) -> Op:
    """`<=>`: never null; both sides are worked out."""
    _comparable(node, given)
    raises = any(each.raises for each in given)
    if raises and any(isinstance(each, Literal) for each in given):
        raise NotCompiled("Spark may leave out what stands beside a NULL")
    kernel = partial(same, equal_reals if is_real(given[0].type) else pc.equal)
    return Call(pa.bool_(), raises, False, kernel, tuple(given), every=True)


def same(equal: Any, one: Any, other: Any) -> Any:
    """Equal, or both null."""
    missing = pc.and_(pc.is_null(one), pc.is_null(other))
    return pc.or_(pc.fill_null(equal(one, other), False), missing)


def _comparable(node: Node, given: Sequence[Op]) -> None:
    one, other = given
    if one.type != other.type or not is_plain(one.type) or pa.types.is_null(one.type):
        raise NotCompiled(f"{one.type} beside {other.type} is not compiled")
    if any(isinstance(each, Literal) for each in given):
        _not_unwrapped(given)
        if any(each.raises and not each.strict for each in given):
            raise NotCompiled("Spark may know the answer, and not work it out")
    if one.raises and node.children[0].key == node.children[1].key:
        raise NotCompiled("Spark may leave out a comparison of a value with itself")


def _not_unwrapped(given: Sequence[Op]) -> None:
    """Beside a plain value the optimizer compares days with days, and no day is too far away to be a time."""
    if any(isinstance(each, Call) and each.kernel is midnight for each in given):
        raise NotCompiled("a date as a time, beside a value")


def _in(node: Node, given: Sequence[Op]) -> Op:
    value, *members = given
    if any(each.type != value.type for each in members) or not is_plain(value.type):
        raise NotCompiled("IN over types that are not compiled")
    if not all(isinstance(each, Literal) for each in members):
        raise NotCompiled("IN over other columns")
    _not_unwrapped([value])
    found = [each.value for each in members if isinstance(each, Literal)]
    there = [each for each in found if each.is_valid]
    if not there or (value.raises and len(there) < len(found)):
        raise NotCompiled("IN over NULL")  # as a condition it is never TRUE when turned round: Spark may not ask it
    if is_real(value.type):
        if len(members) > FEW:
            raise NotCompiled("IN over many numbers with a fraction")
        return call(pa.bool_(), partial(among_reals, tuple(found)), [value])
    return call(pa.bool_(), partial(among, pa.array(there, value.type), len(there) < len(found)), [value])


def among(members: pa.Array, or_null: bool, values: pa.Array) -> pa.Array:
    """NULL for NULL; and, where NULL is among the members, for what is not among the others."""
    found = pc.is_in(values, value_set=members)
    unknown = pc.invert(found) if or_null else pc.is_null(values)
    return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)


def may_be_null(kernel: Kernel) -> bool:
    """Is it an IN with NULL among its members?"""
    if not isinstance(kernel, partial):
        return False
    if kernel.func is among_reals:
        return any(not member.is_valid for member in kernel.args[0])
    return kernel.func is among and bool(kernel.args[1])


def among_reals(members: tuple[pa.Scalar, ...], values: pa.Array) -> pa.Array:
    found = equal_reals(values, members[0])
    for member in members[1:]:
        found = pc.or_kleene(found, equal_reals(values, member))
    return found


def _extreme(node: Node, given: Sequence[Op]) -> Op:
    """greatest and least: of those that are not NULL. All are worked out."""
    kind = given[0].type
    ordered = pa.types.is_signed_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind)
    if not ordered or any(each.type != kind for each in given):
        raise NotCompiled(f"the largest of {kind}")
    kernel = pc.max_element_wise if node.kind == "Greatest" else pc.min_element_wise
    raises = any(each.raises for each in given)
    return Call(kind, raises, False, kernel, tuple(given), every=True)


RULES = {
    "Greatest": _extreme,
    "Least": _extreme,
    **dict.fromkeys(PLAIN, _comparison),
    "EqualNullSafe": _null_safe,
    "In": _in,
}
