"""The one SELECT of a `sql` step."""

from __future__ import annotations

from penstock.sql.problems import SqlWrong
from penstock.sql.values import Expression, Generator, RowQuery


def read_query(text: str) -> RowQuery:
    """The row-wise query that the text is. Raises SqlWrong with all that is wrong with it."""
    raise NotImplementedError


__all__ = ["Expression", "Generator", "RowQuery", "SqlWrong", "read_query"]
