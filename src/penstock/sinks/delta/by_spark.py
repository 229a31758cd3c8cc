"""Spark's own writer as a committer: for catalog tables, and for tables that a plain append would make wrong.

Tasks freeze rows as plain Parquet in the batch's stage; the commit lets Spark append exactly these files under the
same application id that our own commit would have. So either committer recognises what the other has done, and a table
may pass from one to the other between two batches.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from penstock.errors import SinkRefused, TableChanged, Unavailable
from penstock.sinks.contract import Frozen, Receipt, Undone, WriteKey
from penstock.sinks.delta import demands, history, log, ready
from penstock.sinks.delta.changes import obstacles, tightened
from penstock.sinks.delta.columns import (
    check_partitioning,
    delta_fields,
    new_columns,
    same_partitioning,
    still_to_add,
)
from penstock.sinks.delta.once import another_batch, first_line, patiently, told
from penstock.sinks.delta.place import Session
from penstock.sinks.delta.spark_table import Look, SparkTable, causes
from penstock.sinks.delta.staged import SparkTarget
from penstock.sinks.delta.target import Lineage, with_lineage, written_columns

BROKEN = "DeltaInvariantViolationException"
"""How Delta calls a row that breaks a condition of the table."""


class SparkDeltaCommitter:
    """Commits to one table; kept for the whole run."""

    by = "spark"

    def __init__(
        self,
        name: str,
        table: str,
        session: Session,
        *,
        partition_by: Sequence[str] = (),
        schema: Literal["evolve", "fixed"] = "evolve",
        lineage: Lineage | None = "columns",
        properties: dict[str, str] | None = None,
        why: str = "the pipeline file says `writer: spark`",
    ) -> None:
        self.name, self.table, self.why = name, table, why
        self.partition_by, self.schema, self.lineage = tuple(partition_by), schema, lineage
        self.properties = properties or {}
        self.spark = SparkTable(name, table, session)

    def prepare(self, columns: pa.Schema, stage: Path) -> SparkTarget:
        """The table as these columns will be frozen for it; created if absent. Raises SinkRefused."""
        whole = with_lineage(columns, self.lineage)
        wanted = delta_fields(whole, self.name)
        state = (self.spark.look() or self._create(wanted)).state
        same_partitioning(state, self.partition_by, self.name)
        added = new_columns(demands.without_filled(state), wanted, self.schema, self.name, widen=True)
        written = written_columns(whole, state, added)
        return SparkTarget(
            table=self.table,
            folder=str(stage),
            table_id=state.id,
            columns=written,
            partition_by=state.partition_by,
            lineage=self.lineage,
            add_columns=added,
            conditions=demands.check(state, written, self.name),
            demands=demands.texts(state),
        )

    def watermark(self, app: str) -> int | None:
        """The last batch committed under this application id; None if there is none, or no table."""
        look = self.spark.look()
        return None if look is None else look.watermark(app)

    def identity(self) -> dict[str, Any]:
        """Which table this is."""
        look = self.spark.look()
        return {"committer": "delta", "target": self.table, "id": look.state.id if look else None}

    def story(self, app: str) -> dict[str, Any] | None:
        """What our newest batch says of itself; None if the log knows of none."""
        look = self.spark.look()
        ours = None if look is None else history.newest(look.location, app, look.version)
        return None if ours is None else {**ours.story, "batch_id": ours.batch_id}

    def undone(self, app: str) -> list[Undone]:
        """What took our rows away since our newest batch: a RESTORE, an overwrite."""
        look = self.spark.look()
        return [] if look is None else history.undone(look.location, app, look.version)

    def ready(self) -> list[str]:
        """Refuse a table that forgets our keys, or that may not be written to."""
        look = self.spark.look()
        if look is not None:
            ready.check(self.name, look.location, look.state)
        elif not self.spark.named:
            ready.check(self.name, self.table, None)
        return []

    def folder(self) -> str | None:
        """Where the table is, for those who read its log; None while there is none."""
        look = self.spark.look()
        return None if look is None else look.location

    def verify(self, frozen: Frozen, key: WriteKey) -> None:
        """Raises TableChanged if the frozen rows no longer suit the table. Nothing is said of a committed batch.

        A condition that the table has gained since is reason enough to compute the batch anew: rows that break it
        are then rejected by themselves.
        """
        if frozen.files:
            look = self.spark.look()
            if not self._recognised(look, frozen, key):
                look = self._checked(look, frozen, key)
                self._halt_if([*tightened(frozen.target, look.state)], key)

    def commit(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """One commit of Spark's that adds the frozen rows, under the batch's key. A batch without rows needs none."""
        if not frozen.files:
            look = self.spark.look()
            return Receipt(self.name, "empty", look.version if look else -1, 0)
        return patiently(self.name, self.table, key, lambda: self._try(frozen, key, story), self.spark.forget)

    def close(self, key: WriteKey) -> None:
        """Let no batch of this key's generation be committed any more: its watermark becomes the key's batch id."""
        look = self.spark.look()
        seen = None if look is None else look.watermark(key.app)
        if look is not None and (seen is None or seen < key.batch_id):
            self.spark.set_transaction(look, key.app, key.batch_id)

    def _try(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """One try. Spark passes over a batch that a rival has committed in the meantime, without a word: so the log
        is read afterwards, and a mark of this very try tells whose commit it is.
        """
        look = self.spark.look()
        done = self._recognised(look, frozen, key)
        if done:
            return Receipt(self.name, "recognised", done.version, frozen.rows)
        look = self._checked(look, frozen, key)
        mark = uuid.uuid4().hex
        self._append(look, frozen, key, told(story, key, frozen.rows, writer=self.by, attempt=mark))
        landed = log.find_after(look.location, key.app, key.batch_id, look.version)
        if landed is None:
            raise OSError(f"the commit of batch {key.batch_id} is not in the log")
        if landed.story.get("digest") != key.digest:
            raise another_batch(self.name, self.table, key, key.batch_id, landed)
        log.keep_whole(look.location, landed.version)
        if landed.story.get("attempt") != mark:
            return Receipt(self.name, "recognised", landed.version, frozen.rows)
        added = tuple(field["name"] for field in frozen.target["add_columns"])
        return Receipt(self.name, "committed", landed.version, frozen.rows, added)

    def _append(self, look: Look, frozen: Frozen, key: WriteKey, story: str) -> None:
        known = {field["name"] for field in look.state.fields}
        grows = any(field["name"] not in known for field in frozen.target["columns"])
        known_types = {field["name"]: field["type"] for field in look.state.fields}
        more = still_to_add(frozen.target, look.state)
        if any(isinstance(known_types.get(field["name"]), str) for field in more):
            self.spark.let_types_widen()
        grows = grows or bool(more)
        options = {
            "txnAppId": key.app,
            "txnVersion": key.batch_id,
            "userMetadata": story,
            "mergeSchema": "true" if grows else "false",
        }
        files = [_folder(frozen) / file.path for file in frozen.files]
        try:
            self.spark.append(files, frozen.target["columns"], options)
        except Exception as error:
            for name, message in causes(error):
                if name == BROKEN:
                    raise self._broken(look, frozen, key, message) from error
            raise

    def _recognised(self, look: Look | None, frozen: Frozen, key: WriteKey) -> log.Commit | None:
        """The earlier commit of this batch, if there is one. Halts if it is another batch under the same key.

        Where the log no longer reaches back to it, files that were frozen as the table's own are known by their names.
        Rows that Spark wrote have other names than the frozen files: then nothing can be known, and it halts.
        """
        seen = None if look is None else look.watermark(key.app)
        if look is None or seen is None or seen < key.batch_id:
            return None
        found = log.find(look.location, key.app, key.batch_id, look.version)
        if found and found.story.get("digest") == key.digest:
            return found
        if not found and not self.spark.names(look).isdisjoint(file.path for file in frozen.files):
            return log.Commit(look.version, {})
        raise another_batch(self.name, self.table, key, seen, found)

    def _checked(self, look: Look | None, frozen: Frozen, key: WriteKey) -> Look:
        """The table, if Spark can add the frozen rows to it as it is now, and they are all there."""
        found = ["it is gone"]
        if look is not None:
            found = [*obstacles(frozen.target, look.state), *log.damaged(str(_folder(frozen)), frozen.files)]
        self._halt_if(found, key)
        assert look is not None
        return look

    def _halt_if(self, found: list[str], key: WriteKey) -> None:
        if found:
            raise TableChanged(
                f"sink {self.name}, batch {key.batch_id}: table {self.table} is no longer what the batch was written "
                f"for: {'; '.join(found)}.",
                data="Nothing of this batch is visible in the table; its frozen rows are kept.",
                remedy="Undo the change, or run again: unless another sink has the batch already, it is written anew "
                "for the table as it is now. If one has, undo the change or start afresh:  penstock new-generation",
            )

    def _broken(self, look: Look, frozen: Frozen, key: WriteKey, message: str) -> TableChanged | SinkRefused:
        """Spark found a row that breaks a condition. If the condition is new, computing the batch anew rejects it."""
        changed = [*tightened(frozen.target, look.state)]
        kind = TableChanged if changed else SinkRefused
        return kind(
            f"sink {self.name}, batch {key.batch_id}: a row breaks a condition of table {self.table}: "
            f"{first_line(ValueError(message))}",
            data="Nothing of this batch is visible in the table; its frozen rows are kept.",
            remedy="Drop the condition from the table, or say the same in `checks`, so that such rows are rejected.",
        )

    def _create(self, wanted: list[dict[str, Any]]) -> Look:
        """A new table of these columns. If another process made it in the meantime, that one."""
        check_partitioning(wanted, self.partition_by, self.name)
        if ready.FORGETS in self.properties:
            raise SinkRefused(
                f"sink {self.name}: the properties for the new table {self.table} have {ready.FORGETS}: it would "
                "forget which batches were committed.",
                data="The table was not created.",
                remedy=f"Leave it out of  sinks.{self.name}.delta.properties",
            )
        self.spark.create(wanted, self.partition_by, self.properties)
        look = self.spark.look()
        if look is None:
            raise Unavailable(f"sink {self.name}: table {self.table} was created and is gone again.")
        log.keep_new(look.location)
        return look


def _folder(frozen: Frozen) -> Path:
    """Where the frozen files are: in the stage, or in the table's own folder if they were written as its own."""
    return Path(frozen.target.get("folder") or frozen.target["table"])
