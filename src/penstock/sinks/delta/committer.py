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

from penstock.errors import TableChanged, Unavailable
from penstock.sinks.contract import Frozen, FrozenFile, Receipt, Undone, WriteKey
from penstock.sinks.delta import allow, history, log, ready
from penstock.sinks.delta.changes import changes
from penstock.sinks.delta.columns import check_partitioning, delta_fields, new_columns, same_partitioning
from penstock.sinks.delta.handle import Handle
from penstock.sinks.delta.once import another_batch, patiently, told
from penstock.sinks.delta.state import TableState
from penstock.sinks.delta.target import DeltaTarget, Lineage, with_lineage, written_columns

if TYPE_CHECKING:
    from deltalake import DeltaTable


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
        same_partitioning(state, self.partition_by, self.name)
        added = new_columns(state, wanted, self.schema, self.name)
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

    def folder(self) -> str | None:
        """Where the table is, for those who read its log; None while there is none."""
        return self.table if log.exists(self.table) else None

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
        return patiently(self.name, self.table, key, lambda: self._try(frozen, key, story), self.handle.forget)

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
        self._append(table, frozen, log.renewed(self.table, frozen.files), key, story)
        landed = log.find_after(self.table, key.app, key.batch_id, table.version())
        if landed is None:
            raise OSError(f"the commit of batch {key.batch_id} is not in the log")
        log.keep(self.table, landed.version)
        added = tuple(field["name"] for field in frozen.target["add_columns"])
        return Receipt(self.name, "committed", landed.version, frozen.rows, added)

    def _append(
        self, table: DeltaTable, frozen: Frozen, files: Sequence[FrozenFile], key: WriteKey, story: dict[str, Any]
    ) -> None:
        from deltalake import CommitProperties, Transaction
        from deltalake.transaction import AddAction, RemoveAction

        now = time.time_ns() // 1_000_000
        added: list[AddAction | RemoveAction] = [
            AddAction(file.path, file.size, file.partition_values, now, data_change=True, stats=file.stats)
            for file in files
        ]
        table.create_write_transaction(
            added,
            mode="append",
            schema=table.schema(),
            partition_by=list(frozen.target["partition_by"]),
            commit_properties=CommitProperties(
                app_transactions=[Transaction(key.app, key.batch_id)],
                custom_metadata={"userMetadata": told(story, key, frozen.rows)},
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
        raise another_batch(self.name, self.table, key, seen, found)

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


def _names(table: DeltaTable) -> set[str]:
    """The names of the files that the table holds now."""
    return {uri.rsplit("/", 1)[-1] for uri in table.file_uris()}
