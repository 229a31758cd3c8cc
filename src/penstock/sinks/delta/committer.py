"""The half of the sink that runs in the driver: frozen files into one commit that recognises itself.

Every error of a commit is indeterminate: it may have landed. So each try begins anew: fresh state, the table's own
watermark, the checks, and only then the commit. A commit that landed is recognised by the next try.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from penstock.errors import PenstockError, Refused, SinkRefused, TableChanged, Unavailable
from penstock.sinks.contract import Frozen, Receipt, Undone, WriteKey
from penstock.sinks.delta import allow, history, log, ready
from penstock.sinks.delta.changes import changes
from penstock.sinks.delta.columns import check_partitioning, delta_fields, missing_from
from penstock.sinks.delta.handle import Handle, first_line
from penstock.sinks.delta.state import TableState
from penstock.sinks.delta.target import DeltaTarget, Lineage, with_lineage, written_columns

if TYPE_CHECKING:
    from deltalake import DeltaTable

PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Seconds between the tries of one commit; after the last, `Unavailable` hands it to the run's own patience."""


class DeltaCommitter:
    """Commits to one table; kept for the whole run."""

    def __init__(
        self,
        name: str,
        table: str,
        *,
        partition_by: Sequence[str] = (),
        schema: Literal["evolve", "fixed"] = "evolve",
        lineage: Lineage | None = "columns",
        properties: dict[str, str] | None = None,
    ) -> None:
        self.name, self.table = name, table
        self.partition_by, self.schema, self.lineage = tuple(partition_by), schema, lineage
        self.properties = properties or {}
        self.handle = Handle(name, table)

    def prepare(self, columns: pa.Schema, stage: Path | None = None) -> DeltaTarget:
        """The table as these columns will be written to it; created if absent. Raises SinkRefused."""
        whole = with_lineage(columns, self.lineage)
        wanted = delta_fields(whole, self.name)
        state = self.handle.state() or self._create(whole, wanted)
        allow.check(state, self.name)
        self._check_partitioning(state)
        added = tuple(missing_from(state, wanted, self.name))
        if added and self.schema == "fixed":
            names = ", ".join(f"`{field['name']}`" for field in added)
            raise SinkRefused(
                f"sink {self.name}: the batch has columns that table {self.table} does not: {names}.",
                data="This sink wrote nothing.",
                remedy=f"Drop them in a step, or let the table grow:  sinks.{self.name}.delta.schema: evolve",
            )
        return DeltaTarget(
            table=self.table,
            table_id=state.id,
            columns=written_columns(whole, state, added),
            partition_by=state.partition_by,
            lineage=self.lineage,
            add_columns=added,
            configuration=state.configuration,
            protocol=state.protocol,
        )

    def watermark(self, app: str) -> int | None:
        """The last batch committed under this application id; None if there is none, or no table."""
        table = self.handle.fresh()
        return None if table is None else table.transaction_version(app)

    def identity(self) -> dict[str, Any]:
        """Which table this is."""
        state = self.handle.state()
        return {"committer": "delta", "target": self.table, "id": state.id if state else None}

    def story(self, app: str) -> dict[str, Any] | None:
        """What our newest batch says of itself; None if the log knows of none."""
        table = self.handle.fresh()
        ours = None if table is None else history.newest(self.table, app, table.version())
        return None if ours is None else {**ours.story, "batch_id": ours.batch_id}

    def undone(self, app: str) -> list[Undone]:
        """What took our rows away since our newest batch: a RESTORE, an overwrite."""
        table = self.handle.fresh()
        return [] if table is None else history.undone(self.table, app, table.version())

    def ready(self) -> list[str]:
        """Refuse a table that forgets our keys, or that may not be written to."""
        ready.check(self.name, self.table, self.handle.state())
        return []

    def verify(self, frozen: Frozen, key: WriteKey) -> None:
        """Raises TableChanged if the frozen files no longer suit the table. Nothing is said of a committed batch."""
        if frozen.files:
            table = self.handle.fresh()
            if not self._recognised(table, frozen, key):
                self._checked(table, frozen, key)

    def commit(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """One commit that adds the files, under the batch's key. A batch without files needs none."""
        if not frozen.files:
            state = self.handle.state()
            return Receipt(self.name, "empty", state.version if state else -1, 0)
        failure: Exception | None = None
        for pause in (*PAUSES, None):
            try:
                return self._try(frozen, key, story)
            except PenstockError:
                raise
            except Exception as error:  # delta-rs has no tree of errors, and any of them may come after the fact
                failure = error
                self.handle.forget()
            if pause is not None:
                time.sleep(pause)
        raise Unavailable(
            f"sink {self.name}, batch {key.batch_id}: table {self.table} could not be committed to: "
            f"{first_line(failure) if failure else ''}",
            data="Nothing of this batch is visible in it; its files are kept and will be tried again.",
        ) from failure

    def close(self, key: WriteKey) -> None:
        """Let no batch of this key's generation be committed any more: its watermark becomes the key's batch id."""
        from deltalake import CommitProperties, Transaction

        table = self.handle.fresh()
        seen = None if table is None else table.transaction_version(key.app)
        if table is None or (seen is not None and seen >= key.batch_id):
            return
        told = json.dumps({"app": key.app, "closed": True})
        closing = CommitProperties(
            app_transactions=[Transaction(key.app, key.batch_id)], custom_metadata={"userMetadata": told}
        )
        partitions = list(TableState.of(table, self.table).partition_by)
        table.create_write_transaction(
            [], mode="append", schema=table.schema(), partition_by=partitions, commit_properties=closing
        )

    def _try(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """One try. What is looked at and what is committed on is the same version of the table: where another
        writer comes in between, delta-rs finds the conflict (our own key, columns, protocol) and nothing lands.
        """
        table = self.handle.fresh()
        done = self._recognised(table, frozen, key)
        if done:
            return Receipt(self.name, "recognised", done.version, frozen.rows)
        table, new = self._checked(table, frozen, key)
        if new:
            self._grow(table, new, key)
            return self._try(frozen, key, story)
        self._append(table, frozen, key, story)
        landed = log.find_after(self.table, key.app, key.batch_id, table.version())
        if landed is None:
            raise OSError(f"the commit of batch {key.batch_id} is not in the log")
        log.keep(self.table, landed.version)
        added = tuple(field["name"] for field in frozen.target["add_columns"])
        return Receipt(self.name, "committed", landed.version, frozen.rows, added)

    def _append(self, table: DeltaTable, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.transaction import AddAction, RemoveAction

        now = time.time_ns() // 1_000_000
        added: list[AddAction | RemoveAction] = [
            AddAction(file.path, file.size, file.partition_values, now, data_change=True, stats=file.stats)
            for file in frozen.files
        ]
        told = {**story, "app": key.app, "batch_id": key.batch_id, "digest": key.digest, "rows": frozen.rows}
        table.create_write_transaction(
            added,
            mode="append",
            schema=table.schema(),
            partition_by=list(frozen.target["partition_by"]),
            commit_properties=CommitProperties(
                app_transactions=[Transaction(key.app, key.batch_id)],
                custom_metadata={"userMetadata": json.dumps(told, separators=(",", ":"))},
            ),
        )

    def _recognised(self, table: DeltaTable | None, frozen: Frozen, key: WriteKey) -> log.Commit | None:
        """The earlier commit of this batch, if there is one. Halts if it is another batch under the same key.

        Where the log no longer reaches back to it (cleaned after 30 days), the frozen files themselves are the proof:
        their names are unique, so a table that holds one of them took them from this manifest.
        """
        seen = None if table is None else table.transaction_version(key.app)
        if table is None or seen is None or seen < key.batch_id:
            return None
        found = log.find(self.table, key.app, key.batch_id, table.version())
        if found and found.story.get("digest") == key.digest:
            return found
        if not found and not _names(table).isdisjoint(file.path for file in frozen.files):
            return log.Commit(table.version(), {})
        ours = f"its commit has the digest {found.story.get('digest')}" if found else "that commit is not in its log"
        raise Refused(
            f"sink {self.name}, batch {key.batch_id}: table {self.table} says that {key.app} committed batch {seen} "
            f"already, but {ours}, and this batch has {key.digest}.",
            data="The same batch id with other content: committing could double rows, skipping could lose them. "
            "Nothing was written.",
            remedy="The state may be older than the table, or this generation was closed. Restore the state that "
            "belongs to the table, or start afresh, keeping the tables:  penstock new-generation",
        )

    def _checked(
        self, table: DeltaTable | None, frozen: Frozen, key: WriteKey
    ) -> tuple[DeltaTable, list[dict[str, Any]]]:
        """The table, if it is still what the files were written for and they are all there; and columns to add."""
        found = ["it is gone"]
        if table is not None:
            state = TableState.of(table, self.table)
            found = [*changes(frozen.target, state), *log.damaged(self.table, frozen.files)]
        if table is None or found:
            raise TableChanged(
                f"sink {self.name}, batch {key.batch_id}: table {self.table} is no longer what the batch was written "
                f"for: {'; '.join(found)}.",
                data="Nothing of this batch is visible in the table; its files are left aside.",
                remedy="Undo the change, or run again: the batch is written anew for the table as it is now.",
            )
        known = {field["name"] for field in state.fields}
        return table, [field for field in frozen.target["add_columns"] if field["name"] not in known]

    def _grow(self, table: DeltaTable, new: list[dict[str, Any]], key: WriteKey) -> None:
        """Give the table its new columns, in a commit of its own: delta-rs drops them from a commit with files."""
        from deltalake import CommitProperties, Field

        names = {field["name"] for field in new}
        told = {"app": key.app, "batch_id": key.batch_id, "added": sorted(names)}
        table.alter.add_columns(
            [Field.from_json(json.dumps(field)) for field in new],
            commit_properties=CommitProperties(custom_metadata={"userMetadata": json.dumps(told)}),
        )
        grown = self.handle.state()
        lacking = names - {field["name"] for field in grown.fields} if grown else names
        if grown is None or lacking:
            raise OSError(f"the columns {', '.join(sorted(lacking))} were added, and the table does not have them")
        log.keep(self.table, grown.version)

    def _create(self, whole: pa.Schema, wanted: list[dict[str, Any]]) -> TableState:
        """A new table of these columns. If another process made it in the meantime, that one."""
        allow.check_properties(self.properties, self.table, self.name)
        check_partitioning(wanted, self.partition_by, self.name)
        self.handle.create(wanted, self.partition_by, self.properties)
        state = self.handle.state()
        if state is None:
            raise Unavailable(f"sink {self.name}: table {self.table} was created and is gone again.")
        return state

    def _check_partitioning(self, state: TableState) -> None:
        check_partitioning(state.fields, state.partition_by, self.name)
        if self.partition_by and self.partition_by != state.partition_by:
            is_now = f"by {', '.join(state.partition_by)}" if state.partition_by else "not at all"
            raise SinkRefused(
                f"sink {self.name}: partition_by is {', '.join(self.partition_by)}, but table {self.table} is "
                f"partitioned {is_now}.",
                data="This sink wrote nothing.",
                remedy="Say what the table says, leave partition_by out, or write to another table.",
            )


def _names(table: DeltaTable) -> set[str]:
    """The names of the files that the table holds now."""
    return {uri.rsplit("/", 1)[-1] for uri in table.file_uris()}
