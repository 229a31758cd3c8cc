"""`explode` and its kin: 0 to n rows of one. A row without elements stays, marked as dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.sql.values import Generator, RowQuery
from penstock.steps.frame import Frame, carried, column, out

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

ARGUMENT = "__argument"


def with_generated_item(frame: Frame, query: RowQuery, generator: Generator, step: str) -> Frame:
    """A generator among the items: WHERE is asked before it, and the other items go with each of its rows."""
    from pyspark.sql import functions as F  # noqa: N812

    from penstock.steps.queries import columns_of, mark, worked_out

    at = generator.item or 0
    before = columns_of(frame, query.items[:at], query.alias)
    behind = columns_of(frame, query.items[at + 1 :], query.alias)
    items = [value.alias(f"c{number}") for number, (_, value) in enumerate([*before, *behind])]
    rows = worked_out(frame, query, [*items, F.expr(generator.argument.text).alias(ARGUMENT)])
    marked = rows.select(column("__row"), *carried(frame, mark(step)))
    spread, names = generated(marked, frame, generator, step, keep=["__row"])
    others = [column("__row", "data", f"c{number}").alias(name) for number, (name, _) in enumerate([*before, *behind])]
    made = [*others[: len(before)], *map(column, names), *others[len(before) :]]
    every = (*(name for name, _ in before), *names, *(name for name, _ in behind))
    return Frame(spread.select(*made, *map(column, frame.carried)), every)


def beside_a_view(frame: Frame, query: RowQuery, generator: Generator, step: str) -> Frame:
    """LATERAL VIEW: the rows with the generator's columns beside their own. Items and WHERE come behind it."""
    from pyspark.sql import functions as F  # noqa: N812

    from penstock.steps.queries import mark, worked_out

    own = F.struct(*map(column, frame.columns)).alias("own")
    argument = F.expr(generator.argument.text).alias(ARGUMENT)
    rows = worked_out(frame, RowQuery("", query.items, None, None, query.alias), [own, argument])
    marked = rows.select(column("__row"), *carried(frame, mark(step)))
    spread, names = generated(marked, frame, generator, step, keep=["__row"])
    mine = [column("__row", "data", "own", name).alias(name) for name in frame.columns if name not in names]
    made = spread.select(*mine, *map(column, names), *map(column, frame.carried))
    view = {generator.table: names} if generator.table and generator.table not in (*frame.columns, *names) else {}
    columns = (*(name for name in frame.columns if name not in names), *names)
    return Frame(made, columns, view)


def generated(
    rows: DataFrame, frame: Frame, generator: Generator, step: str, keep: Sequence[str]
) -> tuple[DataFrame, tuple[str, ...]]:
    """One row for each element, and the names of the new columns."""
    from pyspark.sql import functions as F  # noqa: N812

    array = column("__row", "data", ARGUMENT)
    functions = {"explode": F.explode_outer, "posexplode": F.posexplode_outer, "inline": F.inline_outer}
    made = functions[generator.function.removesuffix("_outer")](array)
    names = generator.names if generator.named and generator.names else tuple(rows.select(made).columns)
    passing = carried(frame, column("__out") if generator.outer else _unless_empty(array, step))
    return rows.select(*map(column, keep), *passing, made.alias(*names)), names


def _unless_empty(array: Column, step: str) -> Column:
    """The mark of a row: without elements it is dropped, under the step's name."""
    from pyspark.sql import functions as F  # noqa: N812

    empty = column("__out").isNull() & (F.coalesce(F.size(array), F.lit(0)) <= 0)
    return F.when(empty, out(f"step:{step}", step, None, "drop")).otherwise(column("__out"))
