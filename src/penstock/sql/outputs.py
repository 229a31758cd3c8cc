"""The columns that a step gives must have names, one each, and none of penstock's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.sql.problems import SqlProblem
from penstock.sql.values import Expression, Generator


def outputs(items: Sequence[Expression], generator: Generator | None = None) -> list[tuple[int, SqlProblem]]:
    """What is wrong with the names of these items, without knowing the columns before: index, and problem."""
    problems: list[tuple[int, SqlProblem]] = []
    seen: dict[str, str] = {}
    for index, item in enumerate(items):
        made = generator is not None and generator.item == index
        names: Iterable[str | None] = (generator.names or ()) if made and generator else (item.name,)
        if not made and not item.star and not item.spread:
            problems += [(index, each) for each in _named(item)]
        problems += [(index, each) for name in names if name for each in _twice(item, name, seen)]
    return problems


def needs_name(item: Expression) -> SqlProblem:
    shown = " ".join(item.text.split())
    remedy = f"Write  {shown if len(shown) <= 40 else '...'} AS name"
    return SqlProblem(item.row, item.column, "this column needs a name.", remedy)


def _named(item: Expression) -> Iterator[SqlProblem]:
    if item.name is None:
        yield needs_name(item)
    elif item.name.startswith("_") and not item.alias:
        bare = item.name.lstrip("_") or "name"
        message = f"`{item.name}` begins with `_`, as penstock's columns do: those pass every step by themselves."
        yield SqlProblem(item.row, item.column, message, f"Leave it out, or keep a copy:  {item.text} AS {bare}")


def _twice(item: Expression, name: str, seen: dict[str, str]) -> Iterator[SqlProblem]:
    if name.lower() in seen:
        other = "" if seen[name.lower()] == name else f": to Spark it is the same as `{seen[name.lower()]}`"
        message = f"there are two columns `{name}`{other}."
        yield SqlProblem(item.row, item.column, message, f"Give one another name:  AS {name}_2")
    seen.setdefault(name.lower(), name)
