"""AND, OR, NOT, IS NULL, COALESCE, IF and CASE: what is worked out at all depends on what came before.

Spark's optimizer may leave out an operand that changes nothing, and an error with it. Where it could, and an operand
could raise, the expression is left to Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.steps.compiled.compare import may_be_null
from penstock.steps.compiled.ops import (
    Call,
    Column,
    Literal,
    NotCompiled,
    Op,
    Scope,
    Value,
    all_rows,
    call,
    either,
    is_null,
    mask_of,
    within,
)
from penstock.steps.compiled.tree import Node
from penstock.steps.compiled.types import is_plain


@dataclass(frozen=True)
class Junction(Op):
    """AND (`decides` is False) or OR (`decides` is True): the second is asked where the first does not decide."""

    one: Op
    other: Op
    decides: bool

    def of(self, scope: Scope) -> Value:
        one, other = self.one.of(scope), self.other.of(scope)
        data = (pc.or_kleene if self.decides else pc.and_kleene)(one.data, other.data)
        raised = one.raised
        if other.raised is not None:
            decided = one.data if self.decides else pc.invert(one.data)
            raised = either(raised, other.raised & ~mask_of(all_rows(decided, len(scope))))
        return Value(data, raised)


@dataclass(frozen=True)
class Choice(Op):
    """IF: where the condition is TRUE the one, elsewhere the other. A CASE is several."""

    condition: Op
    one: Op
    other: Op

    def of(self, scope: Scope) -> Value:
        condition = self.condition.of(scope)
        true = mask_of(all_rows(condition.data, len(scope)))
        one, other = self.one.of(scope), self.other.of(scope)
        raised = either(condition.raised, None if one.raised is None else one.raised & true)
        raised = either(raised, None if other.raised is None else other.raised & ~true)
        return Value(pc.if_else(pa.array(true), one.data, other.data), raised)


@dataclass(frozen=True)
class First(Op):
    """COALESCE: each is worked out where all before it are null."""

    values: tuple[Op, ...]

    def of(self, scope: Scope) -> Value:
        values = [value.of(scope) for value in self.values]
        raised, missing = None, np.ones(len(scope), dtype=np.bool_)
        for value in values:
            if value.raised is not None:
                raised = either(raised, value.raised & missing)
            missing &= mask_of(all_rows(value.data, len(scope)).is_null())
        return Value(pc.coalesce(*(all_rows(value.data, len(scope)) for value in values)), raised)


def _junction(node: Node, given: Sequence[Op]) -> Op:
    one, other = given
    raises = one.raises or other.raises
    if raises and (any(map(loose, given)) or _repeated(node)):
        raise NotCompiled("Spark may leave out a condition that can raise an error")
    return Junction(pa.bool_(), raises, False, one, other, node.kind == "Or")


def loose(op: Op) -> bool:
    """Could the optimizer find that it is always the same? Then it leaves out what stands beside it."""
    return any(_settles(each) for each in within(op))


def _settles(op: Op) -> bool:
    if isinstance(op, Literal):
        return is_null(op) or op.type == pa.bool_()
    if not isinstance(op, Call):
        return False
    return may_be_null(op.kernel) or (op.kernel in (pc.is_null, pc.is_valid) and not op.arguments[0].strict)


def _repeated(node: Node) -> bool:
    """Does a condition occur twice among those that AND and OR join here?"""
    keys = [each.key for each in _joined(node)]
    alike = (each for each in node.walk() if len(each.children) == 2 and each.children[0].key == each.children[1].key)
    return len(set(keys)) < len(keys) or any(alike)


def _joined(node: Node) -> list[Node]:
    if node.kind in ("And", "Or"):
        return [each for child in node.children for each in _joined(child)]
    return _joined(node.children[0]) if node.kind == "Not" else [node]


def _not(node: Node, given: Sequence[Op]) -> Op:
    return call(pa.bool_(), pc.invert, given)


def _null(node: Node, given: Sequence[Op]) -> Op:
    [value] = given
    if value.raises and not value.strict:
        raise NotCompiled("Spark may know that it is never NULL, and not work it out")
    kernel = pc.is_null if node.kind == "IsNull" else pc.is_valid
    return Call(pa.bool_(), value.raises, False, kernel, (value,))


def _if(node: Node, given: Sequence[Op]) -> Op:
    return _choice(given[0], given[1], given[2])


def _case(node: Node, given: Sequence[Op]) -> Op:
    """CASE, from its last branch to its first."""
    kind = given[1].type
    pairs, rest = [*zip(given[0::2], given[1::2], strict=False)], given[len(given) // 2 * 2 :]
    made: Op = rest[0] if rest else Literal(kind, False, False, pa.scalar(None, kind))
    if any(condition.raises for condition, _ in pairs):
        _must_differ([*(value for _, value in pairs), made])
    for condition, value in reversed(pairs):
        made = _choice(condition, value, made)
    return made


def _choice(condition: Op, one: Op, other: Op) -> Op:
    if one.type != other.type or not is_plain(one.type):
        raise NotCompiled("the branches are of a type that is not compiled")
    if isinstance(condition, Literal):
        return one if condition.value.as_py() else other
    if condition.raises:
        _must_differ([one, other])
    elif is_null(one) and is_null(other):
        return one
    raises = condition.raises or one.raises or other.raises
    return Choice(one.type, raises, False, condition, one, other)


def _must_differ(branches: Sequence[Op]) -> None:
    """If all branches are the same the optimizer leaves out the condition, and its error.

    Those that are plain values are told apart by these; others by the columns in them.
    """
    for one, other in combinations(branches, 2):
        if isinstance(one, Literal) and isinstance(other, Literal):
            same = one.value.equals(other.value)
        else:
            same = loose(one) or loose(other) or _columns(one) == _columns(other)
        if same:
            raise NotCompiled("Spark may leave out a condition that can raise an error")


def _columns(op: Op) -> set[str]:
    return {each.name for each in within(op) if isinstance(each, Column)}


def _coalesce(node: Node, given: Sequence[Op]) -> Op:
    kind = given[0].type
    if any(each.type != kind for each in given) or not is_plain(kind):
        raise NotCompiled("COALESCE over types that are not compiled")
    given = [each for each in given if not is_null(each)] or given[:1]
    if isinstance(given[0], Literal):
        return given[0]
    return First(kind, any(each.raises for each in given), False, tuple(given))


def _typed_null(node: Node, given: Sequence[Op]) -> Op:
    """NULL of its child's type; the child is not worked out."""
    return Literal(given[0].type, False, False, pa.scalar(None, given[0].type))


RULES = {
    "And": _junction, "Or": _junction, "Not": _not, "IsNull": _null, "IsNotNull": _null, "If": _if, "CaseWhen": _case,
    "Coalesce": _coalesce, "TypedNullLiteral": _typed_null,
}  # fmt: skip
