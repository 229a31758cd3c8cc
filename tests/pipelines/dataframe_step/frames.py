"""Steps over Spark DataFrames, as a user would write them: they filter, explode, shuffle, and raise."""

from __future__ import annotations

import pyspark.sql.functions as F  # noqa: N812
from pyspark.sql import DataFrame


def priced(rows: DataFrame) -> DataFrame:
    rows = rows.filter("order_id <> 99").withColumn("line", F.explode("lines")).repartition(3)
    return rows.select("_topic", "_partition", "_offset", "order_id", "currency", "line")


def marked(rows: DataFrame) -> DataFrame:
    return rows.withColumn("mark", F.when(F.col("line") == 13, F.raise_error(F.lit("unlucky"))).otherwise("fine"))
