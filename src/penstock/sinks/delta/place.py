"""Where a table that Spark writes is: in a folder that the pipeline file names, or where the catalog says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import SinkRefused
from penstock.sinks.delta import log
from penstock.sinks.delta.once import first_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Gives the session, and makes it if there is none yet."""
NO_TABLE = {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "DELTA_TABLE_NOT_FOUND"}
OWN_CATALOG = "spark_catalog"


class Place(Protocol):
    """A table's place."""

    @property
    def quoted(self) -> str:
        """The table as SQL names it."""
        ...

    def folder(self) -> str | None:
        """The table's folder on this machine; None if nobody knows of such a table."""
        ...

    def make_room(self) -> None:
        """Make ready for a new table, or refuse it."""
        ...


class AtPath:
    """A table that is a folder."""

    def __init__(self, sink: str, table: str) -> None:
        self.sink, self.table = sink, table

    @property
    def quoted(self) -> str:
        return f"delta.`{self.table.replace('`', '``')}`"

    def folder(self) -> str:
        return self.table

    def make_room(self) -> None:
        found = [] if log.exists(self.table) else log.strangers(self.table)
        if found:
            what = f"is no Delta table, and not empty: it holds {', '.join(found[:3])}."
            raise refused(self.sink, self.table, what)


class Named:
    """A table of a catalog. Only Spark knows the way there."""

    def __init__(self, sink: str, table: str, session: Session) -> None:
        self.sink, self.table, self.session = sink, table, session

    @property
    def quoted(self) -> str:
        return _quoted(self.table)

    def folder(self) -> str | None:
        """Where the catalog says that the table is."""
        from pyspark.errors import AnalysisException

        try:
            [found] = self.session().sql(f"DESCRIBE DETAIL {self.quoted}").select("format", "location").collect()
        except AnalysisException as error:
            if str(error.getCondition()).split(".")[0] in NO_TABLE:
                return self._remembered()
            raise refused(self.sink, self.table, f"cannot be used: {first_line(error)}") from error
        if found.format != "delta":
            raise refused(self.sink, self.table, f"is no Delta table: the catalog says {found.format}.")
        return self._local(found.location)

    def _remembered(self) -> str | None:
        """Where a table of a catalog that lives in memory is: it forgets every name, but their folders stay."""
        folder = self._in_memory_folder()
        if folder is None or not log.exists(folder):
            return None
        self.make_room()
        escaped = folder.replace("\\", "\\\\").replace("'", "\\'")
        self.session().sql(f"CREATE TABLE IF NOT EXISTS {self.quoted} USING delta LOCATION '{escaped}'")
        return folder

    def _in_memory_folder(self) -> str | None:
        spark, parts = self.session(), self.table.lower().split(".")
        if spark.conf.get("spark.sql.catalogImplementation") != "in-memory" or self._foreign:
            return None
        warehouse = self._local(str(spark.conf.get("spark.sql.warehouse.dir")))
        schema, table = parts[-2:]
        return str(Path(warehouse, table) if schema == "default" else Path(warehouse, f"{schema}.db", table))

    @property
    def _foreign(self) -> bool:
        """Is it a table of a catalog other than Spark's own?"""
        parts = self.table.split(".")
        return len(parts) > 2 and parts[0].lower() != OWN_CATALOG

    def make_room(self) -> None:
        """The schema of a new table must be there; in a catalog that lives in memory nobody but us can make it."""
        schema = ".".join(self.table.split(".")[:-1])
        if self._in_memory_folder() is not None:
            self.session().sql(f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}")
        elif not self.session().catalog.databaseExists(schema):
            raise SinkRefused(
                f"sink {self.sink}: the catalog has no schema {schema} for table {self.table}.",
                data="penstock wrote nothing.",
                remedy=f"Create it with SQL:  CREATE SCHEMA {schema}",
            )

    def _local(self, location: str) -> str:
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):/", location)
        if scheme and scheme[1].lower() != "file":
            raise refused(
                self.sink, self.table, f"lies on `{scheme[1]}` ({location}): that comes with running on a cluster."
            )
        jvm: Any = self.session()._jvm
        return str(jvm.org.apache.hadoop.fs.Path(location).toUri().getPath())


def refused(sink: str, table: str, what: str) -> SinkRefused:
    return SinkRefused(
        f"sink {sink}: {table} {what}", data="penstock wrote nothing to it.", remedy="Name another table."
    )


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))
