"""Which columns a stage sees and which it gives, followed through a pipeline without a JVM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.sql.problems import SqlProblem
from penstock.sql.values import Expression, RowQuery

penstock_columns = (
    "_topic", "_partition", "_offset", "_timestamp", "_timestamp_type", "_key", "_headers", "_schema_id",
)  # fmt: skip
"""Columns that every stage sees and none can make; they are not among `Columns.names`."""


@dataclass(frozen=True)
class Columns:
    """The user's columns at one place of a pipeline, in order."""

    names: tuple[str, ...] = ()
    complete: bool = True
    """False where there may be more: after a Python step, or where only Spark knows the fields of a struct."""


UNKNOWN = Columns(complete=False)
"""After a Python step: its columns are learned when it is called."""


def check_columns(expression: Expression, columns: Columns) -> list[SqlProblem]:
    """The columns that the expression names and that are not there."""
    raise NotImplementedError


def check_select(items: Sequence[Expression], columns: Columns) -> list[tuple[int, SqlProblem]]:
    """What is wrong with a `select` list over these columns: index of the item, and the problem in its text."""
    raise NotImplementedError


def check_query(query: RowQuery, columns: Columns) -> list[SqlProblem]:
    """What is wrong with a query over these columns."""
    raise NotImplementedError


def after_select(items: Sequence[Expression], columns: Columns) -> Columns:
    """What the next stage sees after a `select` step."""
    raise NotImplementedError


def after_query(query: RowQuery, columns: Columns) -> Columns:
    """What the next stage sees after a `sql` step."""
    raise NotImplementedError
