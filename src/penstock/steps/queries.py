"""`select` and `sql` steps in Spark, rewritten so that no record is lost sight of.

The user's expressions are handed to Spark word for word, a row's together in one struct: NULL as a whole where any of
them raises. WHERE decides whether they are worked out at all, and marks a row instead of removing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.sql.values import Expression, RowQuery
from penstock.steps.attempt import attempt
from penstock.steps.frame import LIVE, Frame, carried, column, out
from penstock.steps.generators import beside_a_view, with_generated_item

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

RAISED = "The SQL of this step raised an error on this record."


def queried(frame: Frame, query: RowQuery, step: str) -> Frame:
    """The rows that the query makes of each row."""
    if query.generator is None:
        return projected(frame, query, step)
    if query.generator.item is not None:
        return with_generated_item(frame, query, query.generator, step)
    return projected(beside_a_view(frame, query, query.generator, step), query, step)


def projected(frame: Frame, query: RowQuery, step: str) -> Frame:
    """Items and WHERE over each row; the row stays, marked where it is out now."""
    named = columns_of(frame, query.items, query.alias)
    rows = worked_out(frame, query, [value.alias(name) for name, value in named])
    made = [column("__row", "data", name).alias(name) for name, _ in named]
    return Frame(rows.select(*made, *carried(frame, mark(step))), tuple(name for name, _ in named))


def worked_out(frame: Frame, query: RowQuery, items: Sequence[Column]) -> DataFrame:
    """What is carried, and `__row`: whether WHERE keeps the row, and its items; NULL if anything raised."""
    from pyspark.sql import functions as F  # noqa: N812

    kept = F.lit(True) if query.where is None else F.coalesce(F.expr(query.where.text), F.lit(False))
    data = F.struct(*items) if query.where is None else F.when(kept, F.struct(*items))
    row = attempt(F.struct(kept.alias("kept"), data.alias("data")))
    return frame.scope(query.alias).select(*map(column, frame.carried), F.when(F.expr(LIVE), row).alias("__row"))


def mark(step: str) -> Column:
    """Out as before; or the SQL raised; or WHERE was not true."""
    from pyspark.sql import functions as F  # noqa: N812

    return (
        F.when(column("__out").isNotNull(), column("__out"))
        .when(column("__row").isNull(), out(f"step:{step}", "step_failed", RAISED))
        .when(~column("__row", "kept"), out(f"step:{step}", step, None, "drop"))
    )


def columns_of(frame: Frame, items: Sequence[Expression], alias: str) -> list[tuple[str, Column]]:
    """Each output column of these items: its name and its expression. Stars are spread out."""
    from pyspark.sql import functions as F  # noqa: N812

    found: list[tuple[str, Column]] = []
    for item in items:
        if item.star:
            left_out = {name.lower() for name in item.except_}
            found += [(name, column(name)) for name in frame.columns if name.lower() not in left_out]
        elif item.spread:
            struct = F.expr(item.text.rpartition(".")[0])
            names = frame.scope(alias).select(F.expr(item.text)).columns
            found += [(name, struct.getField(name)) for name in names]
        else:
            value = F.expr(item.text)
            found.append((item.name or frame.scope(alias).select(value).columns[0], value))
    return found
