"""A table as Spark sees it, by path or by catalog name. The one place of this sink that reaches into the JVM.

Delta's own snapshot is asked for state and watermark, because it is what Spark's writer decides by; a look costs some
20 ms. Rows go in with `writeTo(...).append()`, which never creates a table: one that was dropped a moment ago stays so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import SinkRefused, Unavailable
from penstock.paths import is_catalog_name
from penstock.sinks.delta import log
from penstock.sinks.delta.once import first_line
from penstock.sinks.delta.place import AtPath, Named, Place, Session
from penstock.sinks.delta.state import TableState

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
        self.place: Place = Named(sink, table, session) if self.named else AtPath(sink, table)

    def look(self) -> Look | None:
        """The newest version; None if there is no table. Creates nothing."""
        location = self.place.folder()
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
        builder = builder.tableName(self.place.quoted) if self.named else builder.location(self.table)
        schema = spark._jsparkSession.parseDataType(json.dumps({"type": "struct", "fields": fields}))
        builder = builder.addColumns(schema)
        if partition_by:
            builder = builder.partitionedBy(_array(spark, partition_by))
        for name, value in properties.items():
            builder = builder.property(name, value)
        try:
            self.place.make_room()
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
        writer = rows.parquet(*(str(path) for path in files)).writeTo(self.place.quoted)
        for name, value in options.items():
            writer = writer.option(name, value)
        writer.append()

    def let_types_widen(self) -> None:
        """Turn on the table's type widening: Spark then takes a wider column as a change of its type."""
        self.session().sql(f"ALTER TABLE {self.place.quoted} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
        self.forget()

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

    def _unreadable(self, error: Exception) -> Exception:
        """Time may cure a disk that is away, but not a table that is newer than Spark's Delta, or broken."""
        found = [name for name, _ in causes(error)]
        if not found:
            return error  # the JVM itself is gone
        what = f"sink {self.sink}: table {self.table} cannot be read: {first_line(error)}"
        if any(word in name for name in found for word in ("Protocol", "Feature", "IllegalState", "Analysis")):
            return SinkRefused(what, data="penstock wrote nothing to it.", remedy="Repair it, or name another table.")
        return Unavailable(what, data="Nothing was written to it.")

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
