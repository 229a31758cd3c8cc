"""The functions that a running Spark knows: what the committed list of `penstock.sql` is made from and held against."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALYST = "org.apache.spark.sql.catalyst.expressions"


def spark_functions(spark: SparkSession) -> dict[str, str]:
    """Name -> sort (scalar, aggregate, window, generator, table) of every function, without operators like `+`."""
    names = [row[0] for row in spark.sql("SHOW FUNCTIONS").collect()]
    judge = _Judge(spark)
    return {name: judge.sort(name) for name in sorted(names) if re.fullmatch(r"[a-z]\w*", name)}


def listed(version: str, sorts: Mapping[str, str]) -> str:
    """The text of the committed list: each sort, then its names."""
    parts = [f"# The functions of Spark {version}. Made by scripts/spark_functions.py."]
    for sort in ("scalar", "aggregate", "window", "generator", "table"):
        names = " ".join(name for name in sorted(sorts) if sorts[name] == sort)
        indent = "    "
        parts += [sort, textwrap.fill(names, 120, initial_indent=indent, subsequent_indent=indent)]
    return "\n".join(parts) + "\n"


class _Judge:
    """Asks the JVM. The documented group of a function is not enough: json_tuple's says nothing of generators."""

    def __init__(self, spark: SparkSession) -> None:
        self.jvm: Any = spark._jvm
        state = spark._jsparkSession.sessionState()
        self.functions, self.tables = state.functionRegistry(), state.tableFunctionRegistry()
        self.generator = self._class(f"{CATALYST}.Generator")
        self.window = self._class(f"{CATALYST}.WindowFunction")
        self.aggregate = self._class(f"{CATALYST}.aggregate.AggregateFunction")

    def _class(self, name: str) -> Any:
        return self.jvm.org.apache.spark.util.Utils.classForName(name, False, False)

    def sort(self, name: str) -> str:
        some = self.jvm.scala.Some
        whole = self.jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name, some("builtin"), some("system"))
        found = self.functions.lookupFunction(whole)
        if not found.isDefined():
            return "table" if self.tables.lookupFunction(whole).isDefined() else "scalar"
        info = found.get()
        made = self._class(info.getClassName())
        if info.getGroup() == "generator_funcs" or self.generator.isAssignableFrom(made):
            return "generator"
        if info.getGroup() == "window_funcs" or self.window.isAssignableFrom(made):
            return "window"
        if info.getGroup() == "agg_funcs" or self.aggregate.isAssignableFrom(made):
            return "aggregate"
        return "scalar"
