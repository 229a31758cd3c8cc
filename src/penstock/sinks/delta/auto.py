"""`writer: auto`: penstock commits while the table is on its allow-list; else Spark does.

The choice is made for each batch, when its files are about to be written, and stands in the manifest. It may differ
from batch to batch, because both commit under one key and each recognises what the other has done.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.errors import SinkRefused, TableChanged
from penstock.sinks.contract import Frozen, Receipt, Target, Undone, WriteKey
from penstock.sinks.delta import allow
from penstock.sinks.delta.by_spark import SparkDeltaCommitter
from penstock.sinks.delta.committer import DeltaCommitter
from penstock.sinks.delta.staged import SPARK

PLAIN = "a folder on this machine, without features that penstock's writer does not honour"


class AutoDelta:
    """One table, and both ways to commit to it."""

    def __init__(self, files: DeltaCommitter, spark: SparkDeltaCommitter) -> None:
        self.name, self.table = files.name, files.table
        self.files, self.spark = files, spark

    @property
    def by(self) -> str:
        """Who would write the next batch: `penstock` or `spark`."""
        return "spark" if self._objection() else "penstock"

    @property
    def why(self) -> str:
        """The reason, as a sentence's end. Needs no JVM."""
        return self._objection() or PLAIN

    def prepare(self, columns: pa.Schema, stage: Path) -> Target:
        """The target of the writer that this table needs as it is now."""
        self.spark.why = self._objection()
        return self.spark.prepare(columns, stage) if self.spark.why else self.files.prepare(columns, stage)

    def watermark(self, app: str) -> int | None:
        return self._reader().watermark(app)

    def identity(self) -> dict[str, Any]:
        return self._reader().identity()

    def story(self, app: str) -> dict[str, Any] | None:
        return self._reader().story(app)

    def undone(self, app: str) -> list[Undone]:
        return self._reader().undone(app)

    def folder(self) -> str | None:
        return self.files.folder()

    def ready(self) -> list[str]:
        return self._reader().ready()

    def verify(self, frozen: Frozen, key: WriteKey) -> None:
        """Raises TableChanged if the batch had better be written anew: also where only Spark could commit it."""
        if frozen.target.get("by") == SPARK:
            self.spark.verify(frozen, key)
            return
        try:
            self.files.verify(frozen, key)
        except SinkRefused as error:  # the table is beyond our own commit now
            raise TableChanged(error.what, data=error.data, remedy=error.remedy) from error

    def commit(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """Commit what was frozen, by whom it was frozen for.

        Files that were written as the table's own, and that it can no longer take as they are, are still good rows:
        Spark reads exactly these files and appends them to the table as it is now. So a batch that another sink has
        already is finished, and not computed again.
        """
        if frozen.target.get("by") == SPARK:
            return self.spark.commit(frozen, key, story)
        try:
            return self.files.commit(frozen, key, story)
        except (TableChanged, SinkRefused):
            return self.spark.commit(frozen, key, story)

    def close(self, key: WriteKey) -> None:
        """Let no batch of this key's generation be committed any more, by either."""
        (self.spark if self._objection() else self.files).close(key)

    def _reader(self) -> DeltaCommitter | SparkDeltaCommitter:
        """We read far more tables than we write rightly, and need no JVM for it."""
        try:
            self.files.watch.look()
        except SinkRefused:
            return self.spark
        return self.files

    def _objection(self) -> str:
        """Why we must not write this table ourselves; empty if it may."""
        try:
            look = self.files.watch.look()
        except SinkRefused as error:
            return error.what
        if look is None:
            found = allow.of_properties(self.files.properties)
            return f"the properties for the new table ask for {', '.join(found)}" if found else ""
        found = allow.objections(look.state) or ([] if look.plain else ["a log of another kind"])
        return f"the table has {', '.join(found)}, which penstock's writer does not honour" if found else ""
