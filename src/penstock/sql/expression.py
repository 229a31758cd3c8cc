"""One SQL expression: a `rule`, a `where`, a `key`, a header, a `topic_from`, or an item of a `select` list."""

from __future__ import annotations

from penstock.sql.problems import SqlProblem, SqlWrong
from penstock.sql.values import Expression, Ref


def read_expression(text: str) -> Expression:
    """An item of a `select` list: `expression [AS name]`, `*` or `* EXCEPT (a, b)`. Raises SqlWrong."""
    raise NotImplementedError


def read_value(text: str) -> Expression:
    """A `rule`, `where`, `key`, header or `topic_from`: one expression without a name. Raises SqlWrong."""
    raise NotImplementedError


__all__ = ["Expression", "Ref", "SqlProblem", "SqlWrong", "read_expression", "read_value"]
