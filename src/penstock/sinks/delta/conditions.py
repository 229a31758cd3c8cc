"""A table's CHECK, read once in the driver and judged in the task, before anything is frozen.

Only what Arrow and Spark judge alike is read: comparisons of a column with a value or with a column of the same type,
IN, BETWEEN, IS NULL, length(), AND, OR, NOT. Anything else is `TooComplex`, and the table is refused: a row that Spark
alone can judge would be found out at the commit, where it takes its whole batch along.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Node = Any
"""A node of sqlglot's tree; its own types do not tell what has a left and a right."""
Tree = tuple[Any, ...]
"""`(word, part, ...)`: small and picklable, so that a worker needs no SQL parser."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_PLAIN: tuple[tuple[Callable[[pa.DataType], bool], Any], ...] = (
    (pa.types.is_integer, int),
    (pa.types.is_decimal, (int, Decimal)),
    (pa.types.is_string, str),
    (pa.types.is_boolean, bool),
    (pa.types.is_date, date),
)
"""Which Python value a column of this type may be compared with."""
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


class TooComplex(ValueError):
    """A condition that only Spark can judge."""


@dataclass(frozen=True)
class Condition:
    """What every row of the table must fulfil. A condition that is NULL is not fulfilled, as in Delta."""

    what: str
    """How the table states it: `the CHECK constraint positive (id > 0)`."""
    tree: Tree
    field: str | None = None
    """The column it is about, if it is about one."""

    def broken(self, rows: pa.RecordBatch) -> pa.Array:
        """Mask of the rows that do not fulfil it."""
        return pc.invert(pc.fill_null(_judge(self.tree, rows), False))


def at_most(column: str, length: int) -> Tree:
    """The condition of VARCHAR(n) and CHAR(n), as Delta checks it."""
    return ("or", ("null", ("column", column)), ("compare", "<=", ("length", ("column", column)), ("value", length)))


def read(text: str, columns: pa.Schema) -> Tree:
    """The tree of a SQL condition over these columns. Raises TooComplex."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        parsed = sqlglot.parse_one(text, read="spark")
    except SqlglotError as error:
        raise TooComplex("it cannot be read") from error
    return _Reader(columns).condition(parsed)


class _Reader:
    """From sqlglot's tree to ours; what is not known by name is too complex."""

    def __init__(self, columns: pa.Schema) -> None:
        self.columns = {field.name.lower(): field for field in columns}

    def condition(self, node: Node) -> Tree:
        from sqlglot import expressions as x

        node = node.unnest()
        if isinstance(node, x.And | x.Or):
            word = "and" if isinstance(node, x.And) else "or"
            return (word, self.condition(node.left), self.condition(node.right))
        if isinstance(node, x.Not):
            return ("not", self.condition(node.this))
        if isinstance(node, x.Is) and isinstance(node.expression, x.Null):
            return ("null", self._column(node.this))
        return self._comparison(node)

    def _comparison(self, node: Node) -> Tree:
        from sqlglot import expressions as x

        signs = {x.EQ: "=", x.NEQ: "!=", x.LT: "<", x.LTE: "<=", x.GT: ">", x.GTE: ">="}
        if type(node) in signs:
            return self._compared(signs[type(node)], node.left, node.right)
        if isinstance(node, x.Between):
            low = self._compared(">=", node.this, node.args["low"])
            return ("and", low, self._compared("<=", node.this, node.args["high"]))
        if isinstance(node, x.In) and node.expressions:
            each = [self._compared("=", node.this, value) for value in node.expressions]
            return reduce(lambda one, other: ("or", one, other), each)
        if isinstance(node, x.Column) and pa.types.is_boolean(self._type(column := self._column(node))):
            return column
        raise TooComplex(f"`{node.sql('spark')}` is more than a simple comparison")

    def _compared(self, sign: str, left: Node, right: Node) -> Tree:
        if _constant(left) and not _constant(right):
            left, right, sign = right, left, _MIRRORED[sign]
        one = self._operand(left)
        kind = self._type(one)
        if _constant(right):
            return ("compare", sign, one, ("value", self._value(right, kind)))
        other = self._operand(right)
        if self._type(other) != kind or pa.types.is_nested(kind) or pa.types.is_binary(kind):
            raise TooComplex(f"`{left.sql('spark')}` and `{right.sql('spark')}` are of different or nested types")
        return ("compare", sign, one, other)

    def _operand(self, node: Node) -> Tree:
        from sqlglot import expressions as x

        node = node.unnest()
        if isinstance(node, x.Length):
            column = self._column(node.this)
            if pa.types.is_string(self._type(column)):
                return ("length", column)
        return self._column(node)

    def _column(self, node: Node) -> Tree:
        from sqlglot import expressions as x

        node = node.unnest()
        if not isinstance(node, x.Column) or node.table:
            raise TooComplex(f"`{node.sql('spark')}` is no plain column")
        if node.name.lower() not in self.columns:
            raise TooComplex(f"the batch has no column `{node.name}`")
        return ("column", self.columns[node.name.lower()].name)

    def _type(self, operand: Tree) -> pa.DataType:
        return pa.int32() if operand[0] == "length" else self.columns[operand[1].lower()].type

    def _value(self, node: Node, kind: pa.DataType) -> Any:
        """The constant, in a Python type that Arrow compares with the column as Spark would."""
        found = _literal(node)
        if pa.types.is_floating(kind) and isinstance(found, int | Decimal) and not isinstance(found, bool):
            return float(found)
        if pa.types.is_date(kind) and isinstance(found, str) and _DAY.fullmatch(found):
            return _day(found)
        wanted = next((python for is_kind, python in _PLAIN if is_kind(kind)), None)
        plain = wanted is not None and isinstance(found, wanted)
        if not plain or isinstance(found, bool) != pa.types.is_boolean(kind) or not _moderate(found):
            raise TooComplex(f"`{node.sql('spark')}` is compared with a column of another type")
        return found


def _constant(node: Node) -> bool:
    from sqlglot import expressions as x

    bare = node.unnest()
    if isinstance(bare, x.Neg | x.Cast):
        bare = bare.this
    return isinstance(bare, x.Literal | x.Boolean | x.Null)


def _literal(node: Node) -> Any:
    from sqlglot import expressions as x

    node = node.unnest()
    if isinstance(node, x.Boolean):
        return bool(node.this)
    if isinstance(node, x.Neg) and isinstance(node.this, x.Literal) and not node.this.is_string:
        return -_number(node.this.name)
    if isinstance(node, x.Cast) and node.to.sql("spark").upper() == "DATE" and isinstance(node.this, x.Literal):
        return _day(node.this.name)
    if isinstance(node, x.Literal):
        return node.name if node.is_string else _number(node.name)
    raise TooComplex(f"`{node.sql('spark')}` is no plain value")


def _number(text: str) -> int | Decimal:
    if re.fullmatch(r"\d+", text):
        return int(text)
    if re.fullmatch(r"\d*\.\d+|\d+\.", text):
        return Decimal(text)
    raise TooComplex(f"`{text}` is no plain number")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise TooComplex(f"`{text}` is no day") from error


def _moderate(value: Any) -> bool:
    """Within what Arrow and Spark hold without a word: 64 bits, and few enough digits."""
    if isinstance(value, Decimal):
        return len(value.as_tuple().digits) <= 18
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _judge(tree: Tree, rows: pa.RecordBatch) -> pa.Array:
    """The condition on each row: true, false, or null."""
    match tree:
        case ("and", one, other):
            return pc.and_kleene(_judge(one, rows), _judge(other, rows))
        case ("or", one, other):
            return pc.or_kleene(_judge(one, rows), _judge(other, rows))
        case ("not", one):
            return pc.invert(_judge(one, rows))
        case ("null", one):
            return _operand(one, rows).is_null()
        case ("compare", sign, one, other):
            return _compare(sign, _operand(one, rows), _operand(other, rows))
    return _operand(tree, rows)


def _operand(tree: Tree, rows: pa.RecordBatch) -> Any:
    match tree:
        case ("column", name):
            return rows[name]
        case ("length", one):
            return pc.utf8_length(_operand(one, rows))
    return pa.scalar(tree[1])


def _compare(sign: str, one: Any, other: Any) -> pa.Array:
    if sign in ("<", "<="):
        return _compare(_MIRRORED[sign], other, one)
    plain = {"=": pc.equal, "!=": pc.not_equal, ">": pc.greater, ">=": pc.greater_equal}[sign](one, other)
    if not pa.types.is_floating(one.type):
        return plain
    # In Spark NaN equals itself and is greater than every number; in Arrow it is neither.
    mine, theirs = pc.is_nan(one), pc.is_nan(other)
    match sign:
        case "=":
            return pc.or_(plain, pc.and_(mine, theirs))
        case "!=":
            return pc.and_(plain, pc.invert(pc.and_(mine, theirs)))
        case ">":
            return pc.or_(plain, pc.and_(mine, pc.invert(theirs)))
    return pc.or_(plain, mine)
