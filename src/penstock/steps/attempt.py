"""An expression that gives NULL on the row where it raises, instead of ending the query.

Spark has it inside (it is how `try_add` of intervals works) and does not export it: this file is the one place that
reaches for it through the JVM. With it a bad cast in one row of a million costs that row, and nothing is read twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import Column


def attempt(expression: Column) -> Column:
    """The expression's value; NULL where it raises an error. Wrap it in a struct to tell that from a NULL value."""
    from pyspark.sql.classic.column import Column as ClassicColumn
    from pyspark.sql.utils import get_active_spark_context

    jvm: Any = get_active_spark_context()._jvm
    utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
    inner = utils.expression(expression._jc)
    return ClassicColumn(utils.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(inner)))
