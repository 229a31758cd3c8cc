"""A table as Spark sees it, by path or by catalog name. The one place of this sink that reaches into the JVM.

Delta's own snapshot is asked for state and watermark, because it is what Spark's writer decides by; a look costs some
20 ms. Rows go in with `writeTo(...).append()`, which never creates a table: one that was dropped a moment ago stays so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import SinkRefused, Unavailable
from penstock.paths import is_catalog_name
from penstock.sinks.delta import log
from penstock.sinks.delta.once import first_line
from penstock.sinks.delta.state import TableState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Session = Callable[[], "SparkSession"]
"""Gives the session, and makes it if there is none yet."""
NO_TABLE = {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "DELTA_TABLE_NOT_FOUND"}
OWN_CATALOG = "spark_catalog"


@dataclass(frozen=True)
class Look:
    """The table at one version."""

    location: str
    """Its folder."""
    state: TableState
    snapshot: Any

    @property
    def version(self) -> int:
        return self.state.version

    def watermark(self, app: str) -> int | None:
        found = self.snapshot.transactions().get(app)
        return int(found.get()) if found.isDefined() else None


class SparkTable:
    """One table. Kept for the whole run; holds nothing that could grow old."""

    def __init__(self, sink: str, table: str, session: Session) -> None:
        self.sink, self.table, self.session = sink, table, session
        self.named = is_catalog_name(table)

    @property
    def quoted(self) -> str:
        """The table as SQL names it."""
        parts = self.table.split(".") if self.named else ["delta", self.table]
        return ".".join("`" + part.replace("`", "``") + "`" for part in parts)

    def look(self) -> Look | None:
        """The newest version; None if there is no table. Creates nothing."""
        location = self._location() if self.named else self.table
        if location is None or not log.exists(location):
            return None
        try:
            return self._at(location)
        except Exception as error:
            raise self._unreadable(error) from error

    def _at(self, location: str) -> Look | None:
        snapshot = self._log(location).update(False, self._none(), self._none())
        if snapshot.version() < 0:
            return None
        protocol, metadata = (json.loads(action.json()) for action in (snapshot.protocol(), snapshot.metadata()))
        state = TableState.from_log(self.table, snapshot.version(), protocol["protocol"], metadata["metaData"])
        return Look(location, state, snapshot)

    def names(self, look: Look) -> set[str]:
        """The names of the files that the table holds now."""
        uris = self.session().read.format("delta").load(look.location).inputFiles()
        return {uri.rsplit("/", 1)[-1] for uri in uris}

    def create(self, fields: list[dict[str, Any]], partition_by: Sequence[str], properties: dict[str, str]) -> None:
        """Make the table. That another process makes it at the same moment is no error: theirs is used."""
        spark = self.session()
        jvm: Any = spark._jvm
        builder = jvm.io.delta.tables.DeltaTable.createIfNotExists(spark._jsparkSession)
        builder = builder.tableName(self.quoted) if self.named else builder.location(self.table)
        schema = spark._jsparkSession.parseDataType(json.dumps({"type": "struct", "fields": fields}))
        builder = builder.addColumns(schema)
        if partition_by:
            builder = builder.partitionedBy(_array(spark, partition_by))
        for name, value in properties.items():
            builder = builder.property(name, value)
        try:
            self._room(spark)
            builder.execute()
        except SinkRefused:
            raise
        except Exception as error:
            if self.look() is None:
                raise self._not_created(error) from error

    def append(self, files: Sequence[Path], fields: list[dict[str, Any]], options: dict[str, Any]) -> None:
        """Add the rows of exactly these files, columns by name, in one commit."""
        from pyspark.sql.types import StructType

        nullable = [{**field, "nullable": True} for field in fields]
        reader = self.session().read.schema(StructType.fromJson({"type": "struct", "fields": nullable}))
        # Neither a `*` in a folder's name nor a `key=value` has a meaning here.
        rows = reader.option("__globPaths__", "false").option("recursiveFileLookup", "true")
        writer = rows.parquet(*(str(path) for path in files)).writeTo(self.quoted)
        for name, value in options.items():
            writer = writer.option(name, value)
        writer.append()

    def set_transaction(self, look: Look, app: str, version: int) -> None:
        """A commit without rows that moves the watermark of this application id."""
        jvm: Any = self.session()._jvm
        delta = jvm.org.apache.spark.sql.delta
        moved = jvm.java.util.ArrayList()
        moved.add(delta.actions.SetTransaction(app, version, self._none()))
        by_hand = getattr(getattr(delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
        actions = jvm.org.apache.spark.api.python.PythonUtils.toSeq(moved)
        self._log(look.location).startTransaction().commit(actions, by_hand)

    def forget(self) -> None:
        """Read the log anew next time."""
        spark = self.session()
        jvm: Any = spark._jvm
        if not self.named:
            path = jvm.org.apache.hadoop.fs.Path(self.table)
            jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(spark._jsparkSession, path)

    def _log(self, location: str) -> Any:
        spark = self.session()
        jvm: Any = spark._jvm
        return jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, location)

    def _none(self) -> Any:
        jvm: Any = self.session()._jvm
        return jvm.scala.Option.empty()

    def _location(self) -> str | None:
        """Where the catalog says that the table is."""
        from pyspark.errors import AnalysisException

        try:
            [found] = self.session().sql(f"DESCRIBE DETAIL {self.quoted}").select("format", "location").collect()
        except AnalysisException as error:
            if str(error.getCondition()).split(".")[0] in NO_TABLE:
                return self._remembered()
            raise self._refused(f"cannot be used: {first_line(error)}") from error
        if found.format != "delta":
            raise self._refused(f"is no Delta table: the catalog says {found.format}.")
        return self._local(found.location)

    def _remembered(self) -> str | None:
        """Where a table of a catalog that lives in memory is: it forgets every name, but their folders stay."""
        folder = self._in_memory_folder()
        if folder is None or not log.exists(folder):
            return None
        spark = self.session()
        self._room(spark)
        escaped = folder.replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"CREATE TABLE IF NOT EXISTS {self.quoted} USING delta LOCATION '{escaped}'")
        return folder

    def _in_memory_folder(self) -> str | None:
        spark, parts = self.session(), self.table.lower().split(".")
        if spark.conf.get("spark.sql.catalogImplementation") != "in-memory" or self._foreign:
            return None
        warehouse = self._local(str(spark.conf.get("spark.sql.warehouse.dir")))
        schema = parts[-2] if len(parts) > 1 else "default"
        return str(Path(warehouse, parts[-1]) if schema == "default" else Path(warehouse, f"{schema}.db", parts[-1]))

    @property
    def _foreign(self) -> bool:
        """Is it a table of a catalog other than Spark's own?"""
        parts = self.table.split(".")
        return len(parts) > 2 and parts[0].lower() != OWN_CATALOG

    def _room(self, spark: SparkSession) -> None:
        """The schema of a new table must be there; in a catalog that lives in memory nobody but us can make it."""
        if not self.named:
            found = log.strangers(self.table)
            if found:
                raise self._refused(f"is no Delta table, and not empty: it holds {', '.join(found[:3])}.")
            return
        schema = self.quoted.rpartition(".")[0]
        if schema and self._in_memory_folder() is not None:
            spark.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        elif schema and not spark.catalog.databaseExists(schema.replace("`", "")):
            raise SinkRefused(
                f"sink {self.sink}: the catalog has no schema {schema.replace('`', '')} for table {self.table}.",
                data="penstock wrote nothing.",
                remedy=f"Create it with SQL:  CREATE SCHEMA {schema.replace('`', '')}",
            )

    def _local(self, location: str) -> str:
        scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):/", location)
        if scheme and scheme[1].lower() != "file":
            raise self._refused(f"lies on `{scheme[1]}` ({location}): that comes with running on a cluster.")
        jvm: Any = self.session()._jvm
        return str(jvm.org.apache.hadoop.fs.Path(location).toUri().getPath())

    def _unreadable(self, error: Exception) -> Exception:
        """Time may cure a disk that is away, but not a table that is newer than Spark's Delta, or broken."""
        found = [name for name, _ in causes(error)]
        if not found:
            return error  # the JVM itself is gone
        what = f"sink {self.sink}: table {self.table} cannot be read: {first_line(error)}"
        if any(word in name for name in found for word in ("Protocol", "Feature", "IllegalState", "Analysis")):
            return SinkRefused(what, data="penstock wrote nothing to it.", remedy="Repair it, or name another table.")
        return Unavailable(what, data="Nothing was written to it.")

    def _refused(self, what: str) -> SinkRefused:
        return SinkRefused(
            f"sink {self.sink}: {self.table} {what}",
            data="penstock wrote nothing to it.",
            remedy="Name another table.",
        )

    def _not_created(self, error: Exception) -> SinkRefused:
        return SinkRefused(
            f"sink {self.sink}: table {self.table} could not be created: {first_line(error)}",
            data="penstock wrote nothing.",
        )


def causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """The class and the message of a Java error and of everything that caused it."""
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    while java is not None:
        yield str(java.getClass().getSimpleName()), str(java.getMessage())
        java = java.getCause()


def _array(spark: SparkSession, texts: Sequence[str]) -> Any:
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.java.lang.String, len(texts))
    for number, text in enumerate(texts):
        array[number] = text
    return array
