"""An analysed expression of Spark's -> an Op that gives the same, or NotCompiled."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.rows import TIME
from penstock.steps.compiled import arithmetic, case, casts, compare, logic, nested, text, times
from penstock.steps.compiled.ops import Column, Literal, NotCompiled, Op, call
from penstock.steps.compiled.tree import Node, trees
from penstock.steps.compiled.types import arrow_type, is_plain

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

SWITCH = "PENSTOCK_ARROW_SQL"
"""Environment variable; `0` leaves all SQL to Spark. For tests, and for doubt."""
Rule = Callable[[Node, Sequence[Op]], Op]
RULES: dict[str, Rule] = {
    **logic.RULES, **compare.RULES, **arithmetic.RULES, **casts.RULES, **text.RULES, **case.RULES, **times.RULES,
    **nested.RULES,
}  # fmt: skip
"""Class of Spark's -> what makes an Op of such a node, given those of its children."""
WRAPPERS = {"Alias", "Between", "Decode", "NullIf", "Nvl", "Nvl2"}
"""Nodes that are but a name for their only child."""
REPLACED = {"Left", "ParseToDate", "StringDecode"}
"""Nodes that Spark itself replaces before it works anything out."""
OWN = {
    "_topic": pa.string(), "_partition": pa.int32(), "_offset": pa.int64(), "_timestamp": TIME, "_key": pa.binary(),
    "_schema_id": pa.int32(),
}  # fmt: skip
"""penstock's columns that an expression may name here. The others need work, or a column that costs: Spark's."""


def wanted(scope: DataFrame) -> bool:
    """Is SQL to be compiled at all? Only what ANSI mode means is known here."""
    ansi = scope.sparkSession.conf.get("spark.sql.ansi.enabled") == "true"
    return ansi and os.environ.get(SWITCH, "1") != "0"


def compiled(scope: DataFrame, values: Sequence[tuple[str, SparkColumn]], columns: pa.Schema) -> list[Op]:
    """The expressions, each beside its text, over rows of these columns. Raises NotCompiled at the first of Spark's."""
    if not wanted(scope):
        raise NotCompiled("SQL is left to Spark in this session")
    made = []
    for (name, _), (node, written) in zip(values, trees(scope, [value for _, value in values]), strict=True):
        try:
            made.append(Compiler(columns).root(node, written))
        except NotCompiled as error:
            raise NotCompiled(f"`{shown(name)}`: {error}") from error
    return made


def shown(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."


class Compiler:
    """Goes down one tree."""

    def __init__(self, columns: pa.Schema) -> None:
        self.columns = columns
        self.common: list[Op] = []
        """What the references inside a WITH of Spark's stand for, the innermost last."""

    def root(self, node: Node, written: str) -> Op:
        if "try_" in written.lower():
            raise NotCompiled("a function that gives NULL instead of an error")
        return self._bytes(node) or self.op(node)

    def _bytes(self, node: Node) -> Op | None:
        """CAST(_key AS STRING), whatever the bytes are, if nothing but a sink sees the text; and back again."""
        targets, base = [], node
        while base.kind == "Cast" and base.fields["dataType"] in ("string", "binary"):
            targets.append(base.fields["dataType"])
            [base] = base.children
        if not targets or base.kind != "AttributeReference" or base.fields["dataType"] != "binary":
            return None
        column = self._column(base)
        return column if targets[0] == "binary" else call(pa.string(), casts.unchecked, [column])

    def op(self, node: Node) -> Op:
        if node.kind in WRAPPERS and len(node.children) == 1:
            return self.op(node.children[0])
        if node.kind == "AttributeReference":
            return self._column(node)
        if node.kind == "With":
            return self._with(node)
        if node.kind == "CommonExpressionRef":
            return self.common[-1]
        if foldable(node):
            return folded(node)
        if node.kind not in RULES:
            raise NotCompiled(f"`{node.handle().prettyName()}` is not compiled")
        return RULES[node.kind](node, [self.op(child) for child in node.children])

    def _column(self, node: Node) -> Op:
        """Spark keeps the name as the user wrote it, in whatever case."""
        written, kind = node.fields["name"], arrow_type(node.fields["dataType"])
        known = {name.lower(): name for name in (*self.columns.names, *OWN)}
        name = written if written in self.columns.names else known.get(written.lower(), "")
        found = OWN.get(name) or (self.columns.field(name).type if name else None)
        if found is None or (kind is not None and found != kind) or (kind is None and is_plain(found)):
            raise NotCompiled(f"the column `{written}` is not compiled")
        return Column(found, False, True, name)

    def _with(self, node: Node) -> Op:
        """`WITH one AS (...) child`: BETWEEN and NULLIF name their first argument twice."""
        child, *defs = node.children
        if len(defs) != 1 or defs[0].kind != "CommonExpressionDef":
            raise NotCompiled("more than one common expression")
        self.common.append(self.op(defs[0].children[0]))
        made = self.op(child)
        self.common.pop()
        return made


def foldable(node: Node) -> bool:
    """Is it the same for every row, and made of nothing but what is known here?"""
    known = all(each.kind == "Literal" or each.kind in RULES for each in node.walk())
    return known and all(each.kind == "Literal" for each in node.walk() if not each.children)


def folded(node: Node) -> Op:
    """The value, as Spark itself works it out."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    spark = node.handle()
    if node.kind in REPLACED:
        spark = spark.replacement()
    kind = arrow_type(_json(spark.dataType()))
    if kind is None or pa.types.is_null(kind):
        raise NotCompiled("a value of a type that is not compiled")
    try:
        value = spark.eval(None)
    except (Py4JError, PySparkException) as error:
        raise NotCompiled("a value that raises an error on every row") from error
    if pa.types.is_floating(kind) and value == 0 and math.copysign(1, value) < 0:
        raise NotCompiled("minus zero, which Spark takes for zero here and there")
    return Literal(kind, False, False, _scalar(value, kind))


def _json(data_type: Any) -> Any:
    return json.loads(data_type.json())


def _scalar(value: Any, kind: pa.DataType) -> pa.Scalar:
    """A value from inside Spark, of which texts and decimals are objects of its own and times are numbers."""
    if value is None:
        return pa.scalar(None, kind)
    if pa.types.is_decimal(kind):
        return pa.scalar(Decimal(value.toString()), kind)
    if pa.types.is_string(kind):
        return pa.scalar(value.toString(), kind)
    if pa.types.is_date32(kind):
        return pa.scalar(value, pa.int32()).cast(kind)
    if pa.types.is_timestamp(kind):
        return pa.scalar(value, pa.int64()).cast(kind)
    return pa.scalar(bytes(value) if pa.types.is_binary(kind) else value, kind)
