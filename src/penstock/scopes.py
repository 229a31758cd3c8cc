"""What each expression of a pipeline may see, followed from `decode` to the sinks, without a JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.options import Wrong
from penstock.stages import OWN_CODES, Check, Step

if TYPE_CHECKING:
    from penstock.sql.problems import SqlProblem
    from penstock.sql.scope import Columns


class WrongSql(Wrong):
    """What is wrong inside a SQL text: each problem has its place in it."""

    def __init__(self, problems: Iterable[SqlProblem], at: tuple[str | int, ...]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{each.message} {each.remedy}".strip() for each in self.problems), at=at)


@dataclass(frozen=True)
class Seen:
    """The columns at one place of a pipeline."""

    columns: Columns
    types: Mapping[str, str] | None
    """Name -> type as DDL spells it, where both are known without Spark."""


def decoded(decode: Any) -> Seen:
    """What the checks and the first step see."""
    from penstock.sql.scope import UNKNOWN, Columns

    known = getattr(decode, "column_types", None)
    types = None if known is None else known()
    return Seen(UNKNOWN if types is None else Columns(tuple(types)), types)


def final(decode: Any, steps: Sequence[Step]) -> Seen:
    """What the sinks see."""
    start = decoded(decode)
    if not steps:
        return start
    columns = start.columns
    for step in steps:
        columns = after(step, columns)
    return Seen(columns, None)


def after(step: Step, columns: Columns) -> Columns:
    """What the stage behind this step sees."""
    from penstock.sql.expression import read_expression
    from penstock.sql.query import read_query
    from penstock.sql.scope import UNKNOWN, after_query, after_select

    if step.select is not None:
        return after_select([read_expression(text) for text in step.select], columns)
    return UNKNOWN if step.sql is None else after_query(read_query(step.sql), columns)


def checks(given: Sequence[Check], decode: Any) -> Iterator[Wrong]:
    """Names are taken once and are no codes of penstock's own; rules name columns that are there."""
    names: set[str] = set()
    for number, check in enumerate(given):
        yield from _taken(check.name, names, (number, "name"))
        if check.name in OWN_CODES:
            yield Wrong(
                f"`{check.name}` is a reject code of penstock's own.", "Name it otherwise.", at=(number, "name")
            )
        yield from expression(check.rule, decoded(decode).columns, (number, "rule"))


def steps(given: Sequence[Step], decode: Any, earlier: Sequence[Check] = ()) -> Iterator[Wrong]:
    """Names are taken once, those of checks included; each step names columns that the one before gave."""
    from penstock.sql.query import read_query
    from penstock.sql.scope import check_query

    names = {check.name for check in earlier}
    columns = decoded(decode).columns
    for number, step in enumerate(given):
        yield from _taken(step.name, names, (number, "name"))
        if step.select is not None:
            yield from _select(step.select, columns, number)
        elif step.sql is not None and (problems := check_query(read_query(step.sql), columns)):
            yield WrongSql(problems, (number, "sql"))
        columns = after(step, columns)


def routes(sinks: Mapping[str, Any], seen: Seen) -> Iterator[Wrong]:
    """`where` and the sinks' own expressions name columns that the last step gave."""
    for name, sink in sinks.items():
        if sink.where is not None:
            yield from expression(sink.where, seen.columns, (name, "where"))
        for path, text in getattr(sink.to, "expressions", dict)().items():
            yield from expression(text, seen.columns, (name, "to", *path))


def expression(text: str, columns: Columns, at: tuple[str | int, ...]) -> Iterator[Wrong]:
    from penstock.sql.expression import read_value
    from penstock.sql.scope import check_columns

    problems = check_columns(read_value(text), columns)
    if problems:
        yield WrongSql(problems, at)


def _select(items: Sequence[str], columns: Columns, number: int) -> Iterator[Wrong]:
    from penstock.sql.expression import read_expression
    from penstock.sql.scope import check_select

    for item, problem in check_select([read_expression(text) for text in items], columns):
        yield WrongSql([problem], (number, "select", item))


def _taken(name: str, names: set[str], at: tuple[str | int, ...]) -> Iterator[Wrong]:
    if name in names:
        yield Wrong(f"the name `{name}` is taken already.", "Checks and steps each need a name of their own.", at=at)
    names.add(name)
