"""The half of the sink that runs in the driver: frozen files into one commit that recognises itself.

Every error of a commit is indeterminate: it may have landed. So each try begins anew: fresh state, the table's own
watermark, the checks, and only then the commit. A commit that landed is recognised by the next try.

The commit is our own: one file, created once, as the version after the one that was looked at. It costs the same in a
table of ten files and in one of a million. delta-rs creates tables and adds columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pyarrow as pa

from penstock.errors import SinkRefused, TableChanged, Unavailable
from penstock.sinks.contract import Frozen, FrozenFile, Receipt, Undone, WriteKey
from penstock.sinks.delta import allow, append, log, ready
from penstock.sinks.delta.changes import changes
from penstock.sinks.delta.columns import (
    check_partitioning,
    delta_fields,
    new_columns,
    same_partitioning,
    still_to_add,
)
from penstock.sinks.delta.folder import Folder
from penstock.sinks.delta.look import Look, Watch
from penstock.sinks.delta.once import another_batch, patiently, told
from penstock.sinks.delta.state import TableState
from penstock.sinks.delta.target import DeltaTarget, Lineage, with_lineage, written_columns
from penstock.sinks.delta.upkeep import Upkeep

if TYPE_CHECKING:
    from deltalake import DeltaTable

Done = TypeVar("Done")
RACES = 100
"""How often another writer may be faster before a try is given up. Each time, it has got on and so may we."""


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
        self.watch = Watch(name, table)
        self.upkeep = Upkeep(table)

    def prepare(self, columns: pa.Schema, stage: Path | None = None) -> DeltaTarget:
        """The table as these columns will be written to it; created if absent. Raises SinkRefused."""
        whole = with_lineage(columns, self.lineage)
        wanted = delta_fields(whole, self.name)
        state = self._taken(self.watch.look() or self._create(wanted))
        self._keep_up(state)
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
        look = self.watch.look()
        return None if look is None else look.watermark(app)

    def identity(self) -> dict[str, Any]:
        """Which table this is."""
        look = self.watch.look()
        return {"committer": "delta", "target": self.table, "id": look.state.id if look else None}

    def story(self, app: str) -> dict[str, Any] | None:
        """What our newest batch says of itself; None if the log knows of none."""
        look = self.watch.look()
        ours = None if look is None else look.story(app)
        return None if ours is None else {**ours.story, "batch_id": ours.batch_id}

    def undone(self, app: str) -> list[Undone]:
        """What took our rows away since our newest batch: a RESTORE, an overwrite."""
        look = self.watch.look()
        return [] if look is None else look.undone(app)

    def folder(self) -> str | None:
        """Where the table is, for those who read its log; None while there is none."""
        return self.table if log.exists(self.table) else None

    def ready(self) -> list[str]:
        """Refuse a table that forgets our keys, or that may not be written to."""
        look = self.watch.look()
        ready.check(self.name, self.table, look.state if look else None)
        return []

    def verify(self, frozen: Frozen, key: WriteKey) -> None:
        """Raises TableChanged if the frozen files no longer suit the table. Nothing is said of a committed batch."""
        if frozen.files:
            look = self.watch.look()
            if not self._recognised(look, frozen, key):
                self._checked(look, frozen, key)

    def commit(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """One commit that adds the files, under the batch's key. A batch without files needs none."""
        if not frozen.files:
            look = self.watch.look()
            return Receipt(self.name, "empty", look.version if look else -1, 0)
        return patiently(self.name, self.table, key, lambda: self._try(frozen, key, story), self.watch.forget)

    def close(self, key: WriteKey) -> None:
        """Let no batch of this key's generation be committed any more: its watermark becomes the key's batch id."""
        self._race(lambda folder, look: self._closed(folder, look, key))

    def _closed(self, folder: Folder | None, look: Look | None, key: WriteKey) -> bool:
        seen = None if look is None else look.watermark(key.app)
        if look is None or (seen is not None and seen >= key.batch_id):
            return True
        said = json.dumps({"app": key.app, "closed": True})
        if folder is None or not look.plain:
            self._close_by_delta_rs(look, key, said)
            return True
        return self._append(folder, look, (), key, said) is not None

    def _try(self, frozen: Frozen, key: WriteKey, story: dict[str, Any]) -> Receipt:
        """One try. What is looked at and what is appended to is the same version of the table: the commit is made as
        the one after it, and cannot be made where another writer came in between. Then everything is looked at anew.
        """
        files = _Renewed(self.table, frozen.files)
        return self._race(lambda folder, look: self._committed(folder, look, frozen, files, key, story))

    def _committed(
        self,
        folder: Folder | None,
        look: Look | None,
        frozen: Frozen,
        files: _Renewed,
        key: WriteKey,
        story: dict[str, Any],
    ) -> Receipt | None:
        done = self._recognised(look, frozen, key)
        if done:
            log.keep_if_there(self.table, done.version)
            return Receipt(self.name, "recognised", done.version, frozen.rows)
        now, new = self._checked(look, frozen, key)
        if new:
            self._grow(new, frozen, key)
            return None
        self._taken(now)
        self._whole(now, key)
        assert folder is not None
        version = self._append(folder, now, files.now(), key, told(story, key, frozen.rows), frozen.rows)
        added = tuple(field["name"] for field in frozen.target["add_columns"])
        if version is None:
            return None
        return Receipt(self.name, "committed", version, frozen.rows, added, notice=self.upkeep.trouble())

    def _race(self, attempt: Callable[[Folder | None, Look | None], Done | None]) -> Done:
        """What the first attempt comes to that no other writer got ahead of."""
        for _ in range(RACES):
            with self.watch.held() as (folder, look):
                done = attempt(folder, look)
            if done:
                return done
        raise OSError(f"other writers of the table were faster {RACES} times in a row")

    def _append(
        self, folder: Folder, look: Look, files: Sequence[FrozenFile], key: WriteKey, said: str, rows: int = 0
    ) -> int | None:
        """The version that these files are in now; None if another writer was faster."""
        version = self.watch.tail.append(folder, append.commit(key, said, look.state.partition_by, files, rows))
        if version is not None:
            self._keep_up(look.state)
        return version

    def _keep_up(self, state: TableState) -> None:
        self.upkeep.see_to(state.version, state.configuration, self.watch.tail.checkpointed)

    def _recognised(self, look: Look | None, frozen: Frozen, key: WriteKey) -> log.Commit | None:
        """The earlier commit of this batch, if there is one. Halts if it is another batch under the same key.

        Where the log no longer reaches back to it (cleaned after 30 days), the frozen files themselves are the proof:
        their names are unique, so a table that holds one of them took them from this manifest.
        """
        seen = None if look is None else look.watermark(key.app)
        if look is None or seen is None or seen < key.batch_id:
            return None
        found = look.commit_of(key.app, key.batch_id)
        if found and found.story.get("digest") == key.digest:
            return found
        if not found and not self._names().isdisjoint(file.path for file in frozen.files):
            return log.Commit(look.version, {})
        raise another_batch(self.name, self.table, key, seen, found)

    def _checked(self, look: Look | None, frozen: Frozen, key: WriteKey) -> tuple[Look, list[dict[str, Any]]]:
        """The table, if it is still what the files were written for and they are all there; and columns to add."""
        found = ["it is gone"]
        if look is not None:
            found = [*changes(frozen.target, look.state), *log.damaged(self.table, frozen.files)]
        if look is None or found:
            raise TableChanged(
                f"sink {self.name}, batch {key.batch_id}: table {self.table} is no longer what the batch was written "
                f"for: {'; '.join(found)}.",
                data="Nothing of this batch is visible in the table; its files are left aside.",
                remedy="Undo the change, or run again: the batch is written anew for the table as it is now.",
            )
        return look, still_to_add(frozen.target, look.state)

    def _whole(self, look: Look, key: WriteKey) -> None:
        """Refuse a table whose content was replaced since our newest batch: this one, on top, would hide it."""
        for found in look.undone(key.app):
            raise SinkRefused(
                f"sink {self.name}, batch {key.batch_id}: table {self.table} was given batches up to "
                f"{look.watermark(key.app)}, but {found.words}.",
                data="None of them would be written again by itself. This batch was not written to the table.",
                remedy="Bring its rows back (RESTORE to a version that has them); or accept the table as it is, and "
                "start afresh:  penstock new-generation",
            )

    def _taken(self, look: Look) -> TableState:
        """The table's state, if penstock may append to it. Raises SinkRefused."""
        allow.check(look.state, self.name)
        if not look.plain:
            raise SinkRefused(
                f"sink {self.name}: table {self.table} has a log that penstock's committer does not read.",
                data="penstock wrote nothing to it.",
                remedy=allow.LATER,
            )
        return look.state

    def _grow(self, new: list[dict[str, Any]], frozen: Frozen, key: WriteKey) -> None:
        """Give the table its new columns, in a commit of its own. Rare enough to be left to delta-rs."""
        from deltalake import CommitProperties, Field

        names = {field["name"] for field in new}
        said = {"app": key.app, "batch_id": key.batch_id, "added": sorted(names)}
        table = self.watch.handle.fresh()
        if table is None or list(changes(frozen.target, TableState.of(table, self.table))):
            return  # the next look will tell
        table.alter.add_columns(
            [Field.from_json(json.dumps(field)) for field in new],
            commit_properties=CommitProperties(custom_metadata={"userMetadata": json.dumps(said)}),
        )
        grown = self.watch.look()
        lacking = {field["name"] for field in still_to_add(frozen.target, grown.state)} if grown else names
        if grown is None or lacking:
            raise OSError(f"the columns {', '.join(sorted(lacking))} were added, and the table does not have them")
        log.keep(self.table, grown.version)

    def _close_by_delta_rs(self, look: Look, key: WriteKey, said: str) -> None:
        """For a table that we do not append to: no row goes into it, so its features do not matter."""
        from deltalake import CommitProperties, Transaction

        table = self._handle()
        closing = CommitProperties(
            app_transactions=[Transaction(key.app, key.batch_id)], custom_metadata={"userMetadata": said}
        )
        partitions = list(look.state.partition_by)
        table.create_write_transaction(
            [], mode="append", schema=table.schema(), partition_by=partitions, commit_properties=closing
        )

    def _create(self, wanted: list[dict[str, Any]]) -> Look:
        """A new table of these columns. If another process made it in the meantime, that one."""
        allow.check_properties(self.properties, self.table, self.name)
        check_partitioning(wanted, self.partition_by, self.name)
        self.watch.handle.create(wanted, self.partition_by, self.properties)
        look = self.watch.look()
        if look is None:
            raise Unavailable(f"sink {self.name}: table {self.table} was created and is gone again.")
        return look

    def _names(self) -> set[str]:
        """The names of the files that the table holds now: the one question that needs them all."""
        return {uri.rsplit("/", 1)[-1] for uri in self._handle().file_uris()}

    def _handle(self) -> DeltaTable:
        table = self.watch.handle.fresh()
        if table is None:
            raise Unavailable(f"sink {self.name}: table {self.table} is gone.")
        return table


class _Renewed:
    """The frozen files, those of yesterday copied when they are first asked for: once, however often it is tried."""

    def __init__(self, table: str, files: Sequence[FrozenFile]) -> None:
        self.table, self.files = table, files
        self._fresh: list[FrozenFile] | None = None

    def now(self) -> list[FrozenFile]:
        if self._fresh is None:
            self._fresh = log.renewed(self.table, self.files)
        return self._fresh
