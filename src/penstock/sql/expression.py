"""One SQL expression: a `rule`, a `where`, a `key`, a header, a `topic_from`, or an item of a `select` list."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.sql.guard import guard
from penstock.sql.problems import SqlProblem, SqlWrong
from penstock.sql.reading import Reading, parse
from penstock.sql.tree import Found, look
from penstock.sql.values import Expression, Ref
from penstock.sql.words import Word

ROWS = frozenset({"rows"})


def read_expression(text: str) -> Expression:
    """An item of a `select` list: `expression [AS name]`, `*` or `* EXCEPT (a, b)`. Raises SqlWrong."""
    reading = Reading(text)
    _one(reading)
    item = read_item(reading, reading.words, ROWS)
    reading.finish()
    return item


def read_value(text: str) -> Expression:
    """A `rule`, `where`, `key`, header or `topic_from`: one expression without a name. Raises SqlWrong."""
    reading = Reading(text)
    _one(reading)
    value = read_plain(reading, reading.words, ROWS)
    reading.finish()
    return value


def read_item(
    reading: Reading, given: Sequence[Word], qualifiers: frozenset[str], generator: int | None = None
) -> Expression:
    """One item of a list. Its problems are added; only what cannot be read at all stops the reading."""
    functions = guard(reading, given, generator)
    reading.finish()
    found = look(reading, given, parse(reading, given), qualifiers)
    if found.alias and found.name and found.name.startswith("_"):
        remedy = f"Try  {found.name.lstrip('_') or 'name'}"
        reading.add(found.alias.start, f"names that begin with `_` are penstock's: found {found.alias}.", remedy)
    return made(reading, given, found, functions)


def read_plain(reading: Reading, given: Sequence[Word], qualifiers: frozenset[str]) -> Expression:
    """One expression that gives a value, and has no name to it."""
    functions = guard(reading, given)
    reading.finish()
    found = look(reading, given, parse(reading, given), qualifiers)
    if found.alias:
        reading.add(found.alias.start, "a name has no use here.", f"Take out  AS {found.name}")
    elif found.star or found.spread:
        reading.add(given[0].start, "needs one value; `*` stands for all columns.", "Name the columns that it needs.")
    return made(reading, given, found, functions)


def made(reading: Reading, given: Sequence[Word], found: Found, functions: tuple[str, ...]) -> Expression:
    row, column = reading.place(given[0].start)
    return Expression(
        text=reading.cut(given),
        columns=tuple(Ref(name, *reading.place(at), field) for name, at, field in found.columns),
        name=found.name,
        alias=found.alias is not None,
        star=found.star,
        except_=found.except_,
        spread=found.spread,
        functions=functions,
        maybe=found.maybe,
        row=row,
        column=column,
    )


def _one(reading: Reading) -> None:
    """An expression is no list and no query."""
    level = 0
    for word in reading.words:
        level += (word.says in ("(", "[", "<")) - (word.says in (")", "]"))
        if word.says == "," and level == 0:
            reading.stop(word.start, "needs one expression, and a comma begins another.", "Write one a line.")
        if word.says == ";":
            reading.stop(word.start, "`;` ends nothing here.", "Take it out.")
    if reading.words[0].says == "SELECT":
        reading.stop(reading.words[0].start, "needs an expression, found a query.", "Try  sql: SELECT ... FROM rows")


__all__ = ["Expression", "Ref", "SqlProblem", "SqlWrong", "read_expression", "read_value"]
