"""Where a table lies. A path says so itself; of a table of the catalog only Spark knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.errors import PenstockError
from penstock.operate.audit.snapshot import Unreadable
from penstock.paths import is_catalog_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from penstock.pipeline import Pipeline


def folder_of(pipeline: Pipeline, sink: str, table: str, spark: SparkSession | None) -> str:
    """The table's folder. Starts Spark only for a catalog name, and only if no session was given."""
    if not is_catalog_name(table):
        return table
    from penstock.engine.session import session_of
    from penstock.sinks.delta.spark_table import SparkTable

    def made() -> SparkSession:
        return spark or session_of(pipeline)

    try:
        look = SparkTable(sink, table, made).look()
    except PenstockError as error:
        raise Unreadable(f"table {table} cannot be found: {error.what}") from error
    if look is None:
        raise Unreadable(f"the catalog has no table {table}")
    return look.location
