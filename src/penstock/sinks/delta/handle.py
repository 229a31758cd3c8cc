"""delta-rs's handle of the table: kept over batches, because opening costs more the longer the log is.

A kept handle believes what it has read: after the table was dropped and made anew it goes on with the old one, or
mixes both (tried on 1.6.6). So it is used again only while the commit file it stands on is still the very same file.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import SinkRefused, Unavailable
from penstock.sinks.delta import log
from penstock.sinks.delta.allow import LATER
from penstock.sinks.delta.folder import Folder
from penstock.sinks.delta.once import first_line
from penstock.sinks.delta.snapshots import commit_name
from penstock.sinks.delta.state import TableState

if TYPE_CHECKING:
    from deltalake import DeltaTable


class Handle:
    """The table as it is now, or None."""

    def __init__(self, sink: str, table: str) -> None:
        self.sink, self.table = sink, table
        self.now: DeltaTable | None = None
        self._mark: log.Mark | None = None

    def fresh(self) -> DeltaTable | None:
        """The handle at the table's newest version; None if there is no table. Creates nothing."""
        from deltalake.exceptions import DeltaError, TableNotFoundError

        try:
            if self.now is not None and self._mark and self._mark == log.mark(self.table, self.now.version()):
                self.now.update_incremental()
            else:
                self.now = self._open()
        except TableNotFoundError:
            self.now = None
        except (DeltaError, OSError) as error:
            self.forget()
            raise self.unreadable(error) from error
        self._mark = log.mark(self.table, self.now.version()) if self.now is not None else None
        return self.now

    def state(self) -> TableState | None:
        """What the newest version says of the table."""
        table = self.fresh()
        return None if table is None else TableState.of(table, self.table)

    def forget(self) -> None:
        """Open the table anew next time."""
        self.now, self._mark = None, None

    def create(self, fields: list[dict[str, Any]], partition_by: Sequence[str], properties: dict[str, str]) -> None:
        """Make the table. That another process makes it at the same moment is no error: theirs is used."""
        from deltalake.exceptions import DeltaError

        found = log.strangers(self.table)
        if found:
            raise SinkRefused(
                f"sink {self.sink}: {self.table} is no Delta table, and not empty: it holds {', '.join(found[:3])}.",
                data="penstock wrote nothing to it.",
                remedy="Name another folder, or move these files away.",
            )
        try:
            body = _first_commit(fields, partition_by, properties)
            Path(self.table, log.LOG).mkdir(parents=True, exist_ok=True)
            if folder := Folder.of(self.table):
                with closing(folder):
                    folder.create_once(commit_name(0), body)
            log.keep_new(self.table)
        except (DeltaError, OSError, ValueError) as error:
            if not log.exists(self.table):
                raise SinkRefused(
                    f"sink {self.sink}: table {self.table} could not be created: {first_line(error)}",
                    data="penstock wrote nothing.",
                ) from error

    def unreadable(self, error: Exception) -> Unavailable | SinkRefused:
        """Time may cure a disk that is away, but not a table that is newer than the library."""
        what = f"sink {self.sink}: table {self.table} cannot be read: {first_line(error)}"
        if "Unsupported" in str(error):
            return SinkRefused(what, data="penstock wrote nothing to it.", remedy=LATER)
        return Unavailable(what, data="Nothing was written to it.")

    def _open(self) -> DeltaTable | None:
        from deltalake import DeltaTable

        return DeltaTable(self.table) if log.exists(self.table) else None


def _first_commit(fields: list[dict[str, Any]], partition_by: Sequence[str], properties: dict[str, str]) -> bytes:
    """The commit that makes such a table, written by delta-rs in a folder of its own.

    In the table's folder, of two processes at once, it would let the second one commit behind the first, and the table
    would have another id than the first one was told (seen on 1.6.6).
    """
    from deltalake import DeltaTable, Schema

    with tempfile.TemporaryDirectory(prefix="penstock-table-") as draft:
        DeltaTable.create(
            draft,
            Schema.from_json(json.dumps({"type": "struct", "fields": fields})),
            mode="error",
            partition_by=list(partition_by),
            configuration=dict(properties),
            raise_if_key_not_exists=all(name.startswith("delta.") for name in properties),
        )
        body = log.body_of(draft, 0)
    assert body is not None
    return body
