"""SQL as fields of options: the user's own text, read once so that a wrong one is a problem of the file."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator


class Sql:
    """Marks a text field as SQL: it takes no references, and `describe` calls it what it is."""

    def __init__(self, noun: str) -> None:
        self.noun = noun


def _item(text: str) -> str:
    from penstock.sql.expression import read_expression

    read_expression(text)
    return text


def _value(text: str) -> str:
    from penstock.sql.expression import read_value

    read_value(text)
    return text


def _query(text: str) -> str:
    from penstock.sql.query import read_query

    read_query(text)
    return text


RuleText = Annotated[str, AfterValidator(_value), Sql("SQL expression")]
"""One expression over the columns: a `rule`, a `where`, a `key`, a header, a `topic_from`."""
ItemText = Annotated[str, AfterValidator(_item), Sql("SQL expression with a name")]
"""An item of a `select` list."""
QueryText = Annotated[str, AfterValidator(_query), Sql("SQL query")]
"""The one SELECT of a `sql` step."""
