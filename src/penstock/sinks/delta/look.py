"""A table at its newest version: as its log shows it, or as delta-rs does where that is more than plain."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.sinks.contract import Undone
from penstock.sinks.delta import history, log
from penstock.sinks.delta.folder import Folder
from penstock.sinks.delta.handle import Handle
from penstock.sinks.delta.picture import Picture
from penstock.sinks.delta.snapshots import Unreadable
from penstock.sinks.delta.state import TableState
from penstock.sinks.delta.tail import Tail

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True)
class Look:
    """The table at one version."""

    state: TableState
    watermarks: dict[str, int] | DeltaTable
    past: history.Past
    plain: bool
    """May we append to it ourselves?"""

    @classmethod
    def at(cls, picture: Picture) -> Look:
        return cls(picture.state, picture.watermarks, picture.past, plain=True)

    @classmethod
    def through(cls, table: DeltaTable, path: str) -> Look:
        return cls(TableState.of(table, path), table, history.Past(path, table.version()), plain=False)

    @property
    def version(self) -> int:
        return self.state.version

    def watermark(self, app: str) -> int | None:
        """The last batch committed under this application id; None if there is none."""
        if isinstance(self.watermarks, dict):
            return self.watermarks.get(app)
        return self.watermarks.transaction_version(app)

    def story(self, app: str) -> history.Ours | None:
        """Our newest batch; the log is not searched for one that was never there."""
        return None if self.watermark(app) is None else self.past.newest(app)

    def undone(self, app: str) -> list[Undone]:
        """What took our rows away since our newest batch."""
        return [] if self.watermark(app) is None else self.past.undone(app)

    def commit_of(self, app: str, batch_id: int) -> log.Commit | None:
        """The commit of this batch, as far back as the log goes."""
        return log.find(self.state.table, app, batch_id, self.past.begin(app))


class Watch:
    """Looks at one table, again and again. What it knows of it is kept from look to look."""

    def __init__(self, sink: str, table: str) -> None:
        self.handle, self.tail = Handle(sink, table), Tail(table)
        self.table = table
        self._one_at_a_time = threading.RLock()

    def look(self) -> Look | None:
        """The newest version; None if there is no table. Creates nothing."""
        with self.held() as (_, look):
            return look

    @contextmanager
    def held(self) -> Iterator[tuple[Folder | None, Look | None]]:
        """The same, with the folder of its log: an append that goes there lands in the table that was looked at."""
        with self._one_at_a_time:
            folder = self._folder()
            try:
                yield folder, self._look(folder)
            finally:
                if folder is not None:
                    folder.close()

    def _folder(self) -> Folder | None:
        try:
            return Folder.of(self.table)
        except OSError as error:
            raise self.handle.unreadable(error) from error

    def _look(self, folder: Folder | None) -> Look | None:
        """A table that is not on the allow-list is looked at by delta-rs: a feature that we do not know could mean that
        its log has to be read in another way. delta-rs also knows more sorts of logs, and says what is wrong with one.
        """
        try:
            picture = self.tail.fresh(folder)
        except Unreadable:
            return self._by_delta_rs()
        except OSError as error:
            self.forget()
            raise self.handle.unreadable(error) from error
        if picture is None:
            return None
        return self._by_delta_rs() if picture.objections else Look.at(picture)

    def _by_delta_rs(self) -> Look | None:
        table = self.handle.fresh()
        return None if table is None else Look.through(table, self.table)

    def forget(self) -> None:
        """Look at everything anew next time."""
        self.handle.forget()
        self.tail.forget()
