"""Arithmetic in ANSI mode: what does not fit, and what is divided by zero, raises on its row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.ops import (
    Call,
    Kernel,
    NotCompiled,
    Op,
    Scope,
    Value,
    by_row,
    call,
    either,
    in_turn,
    like,
    numbers,
    valid,
)
from penstock.steps.compiled.tree import Node
from penstock.steps.compiled.types import bounds, is_real, is_whole

REALS = {"Add": pc.add, "Subtract": pc.subtract, "Multiply": pc.multiply}
CHECKED = {"Add": pc.add_checked, "Subtract": pc.subtract_checked, "Multiply": pc.multiply_checked}
LARGEST_PRECISION = 38
LONGEST_NEGATED = 34
"""Digits of a decimal whose sign Spark can change without rounding it."""


def _sum(node: Node, given: Sequence[Op]) -> Op:
    """`+`, `-` and `*`."""
    kind = _same(given)
    if is_whole(kind):
        _in_its_order(node)
        return call(kind, partial(whole, node.kind), given, raises=True)
    if is_real(kind):
        return call(kind, REALS[node.kind], given)
    return call(_decimal(node.kind, given), REALS[node.kind], given)


def _in_its_order(node: Node) -> None:
    """The optimizer gathers the plain values of a sum of sums, or of a product of products: other rows overflow."""
    parts, waiting = [], [node]
    while waiting:
        each = waiting.pop()
        if each.kind == node.kind != "Subtract":
            waiting += each.children
        else:
            parts.append(each)
    if len(parts) > 2 and any(not _columns_in(part) for part in parts):
        raise NotCompiled("a sum whose order Spark may change")


def _columns_in(node: Node) -> bool:
    return any(each.kind in ("AttributeReference", "CommonExpressionRef") for each in node.walk())


def whole(name: str, one: Any, other: Any) -> Any:
    """Whole numbers of one width. The check costs little; which rows do not fit is asked only if there are any."""
    try:
        return CHECKED[name](one, other)
    except pa.ArrowInvalid:
        made, wrong = SLOW[name](numbers(one), numbers(other))
        return like(made, one.type, one, other), _where_known(wrong, one, other)


def _added(one: Any, other: Any) -> tuple[Any, Any]:
    made = one + other
    return made, ((one ^ made) & (other ^ made)) < 0


def _subtracted(one: Any, other: Any) -> tuple[Any, Any]:
    made = one - other
    return made, ((one ^ other) & (one ^ made)) < 0


def _multiplied(one: Any, other: Any) -> tuple[Any, Any]:
    """A product fits if it can be divided again. By 0 and -1 it cannot be tried: the latter is a change of sign."""
    with np.errstate(over="ignore"):
        made = one * other
    safe = np.where((one == 0) | (one == -1), 1, one)
    tried = (made // safe == other) & (made % safe == 0)
    smallest = np.iinfo(made.dtype).min
    return made, np.where(one == 0, False, np.where(one == -1, other == smallest, ~tried))


SLOW = {"Add": _added, "Subtract": _subtracted, "Multiply": _multiplied}


def _decimal(name: str, given: Sequence[Op]) -> pa.DataType:
    """The type of Spark's result, where it has room for every digit: then nothing is rounded and all fits."""
    one, other = (each.type for each in given)
    if not pa.types.is_decimal128(one) or not pa.types.is_decimal128(other):
        raise NotCompiled(f"arithmetic of {one} and {other}")
    if name == "Multiply":
        precision, scale = one.precision + other.precision + 1, one.scale + other.scale
    else:
        scale = max(one.scale, other.scale)
        precision = max(one.precision - one.scale, other.precision - other.scale) + scale + 1
    if precision > LARGEST_PRECISION:
        raise NotCompiled("a decimal that may have to be rounded")
    return pa.decimal128(precision, scale)


def _quotient(node: Node, given: Sequence[Op]) -> Op:
    """`/`, `%` and DIV. Spark works out the divisor first."""
    kind = _same(given)
    kernel: Kernel
    if node.kind == "Divide" and is_real(kind):
        kernel = _divided
    elif node.kind == "Remainder" and (is_whole(kind) or is_real(kind)):
        kernel = _remainder
    elif node.kind == "IntegralDivide" and kind == pa.int64():
        kernel = _whole_quotient
    else:
        raise NotCompiled(f"division of {kind}")
    made = call(kind, kernel, given, raises=True)
    return Quotient(kind, True, made.strict, kernel, tuple(given)) if isinstance(made, Call) else made


class Quotient(Call):
    """A call of two arguments, of which the second is worked out first."""

    def of(self, scope: Scope) -> Value:
        one, other = self.values(scope)
        data, wrong = self.kernel(one.data, other.data)
        return Value(data, either(in_turn([other, one]), by_row(wrong, scope)))


def _divided(one: Any, other: Any) -> Any:
    right = numbers(other)
    zero = right == 0
    with np.errstate(all="ignore"):
        made = numbers(one) / np.where(zero, np.array(1, right.dtype), right)
    return like(made, one.type, one, other), _where_known(zero, one, other)


def _remainder(one: Any, other: Any) -> Any:
    """The sign is the dividend's. By -1 nothing remains, and the smallest number must not be divided by it."""
    left, right = numbers(one), numbers(other)
    zero = right == 0
    safe = np.where(zero, np.array(1, right.dtype), right)
    if is_whole(one.type):
        safe = np.where(safe == -1, np.array(1, right.dtype), safe)
    with np.errstate(all="ignore"):
        made = np.fmod(left, safe)
    return like(made, one.type, one, other), _where_known(zero, one, other)


def _whole_quotient(one: Any, other: Any) -> Any:
    left, right = numbers(one), numbers(other)
    smallest, _ = bounds(pa.int64())
    wrong = (right == 0) | ((right == -1) & (left == smallest))
    safe = np.where(wrong, np.array(1, right.dtype), right)
    floor = left // safe
    made = floor + ((left % safe != 0) & ((left < 0) != (safe < 0)))  # numpy rounds down, Java towards zero
    return like(made, one.type, one, other), _where_known(wrong, one, other)


def _sign(node: Node, given: Sequence[Op]) -> Op:
    """`-x` and abs(x)."""
    [value] = given
    kernel = pc.negate if node.kind == "UnaryMinus" else pc.abs
    short = pa.types.is_decimal128(value.type) and value.type.precision <= LONGEST_NEGATED
    if is_real(value.type) or short:
        return call(value.type, kernel, given)
    if not is_whole(value.type):
        raise NotCompiled(f"the sign of {value.type}")
    return call(value.type, partial(_checked_sign, kernel), given, raises=True)


def _checked_sign(kernel: Kernel, value: Any) -> Any:
    """The smallest number has no counterpart."""
    smallest, _ = bounds(value.type)
    return kernel(value), _where_known(numbers(value) == smallest, value)


def _same(given: Sequence[Op]) -> pa.DataType:
    kinds = {each.type for each in given}
    if len(kinds) > 1 and not all(pa.types.is_decimal128(kind) for kind in kinds):
        raise NotCompiled("arithmetic of different types")
    return given[0].type


def _where_known(wrong: Any, *given: Any) -> Any:
    """Only where no argument is null: there Spark does nothing."""
    known = [mask for mask in map(valid, given) if mask is not None]
    for mask in known:
        wrong = wrong & mask
    return wrong if wrong.any() else None


RULES = {
    **dict.fromkeys(("Add", "Subtract", "Multiply"), _sum),
    **dict.fromkeys(("Divide", "Remainder", "IntegralDivide"), _quotient),
    **dict.fromkeys(("UnaryMinus", "Abs"), _sign),
}
