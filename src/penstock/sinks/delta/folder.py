"""The folder of a table's log, held open while it is looked at and written to.

Names are looked up in this very folder. If the table is dropped and made anew meanwhile, its log is another folder, and
what is tried here fails instead of landing in a table that nobody looked at.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from penstock import failpoints
from penstock.sinks.delta.log import LOG, Mark

DRAFT = ".tmp"
"""How the names of commit files end that are not in place yet; they begin with a dot."""


class Found(NamedTuple):
    """A file of the log, as it was read."""

    body: bytes
    mark: Mark


class Folder:
    """The log's folder. Close it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def of(cls, table: str) -> Folder | None:
        """The folder of this table's log; None where there is none."""
        try:
            return cls(os.open(Path(table) / LOG, os.O_RDONLY | os.O_DIRECTORY))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def close(self) -> None:
        os.close(self._handle)

    def names(self) -> Iterator[str]:
        with os.scandir(self._handle) as found:
            yield from (entry.name for entry in found)

    def mark(self, name: str) -> Mark | None:
        """Which file stands under this name, or None."""
        try:
            return marked(os.stat(name, dir_fd=self._handle))
        except FileNotFoundError:
            return None

    def read(self, name: str) -> Found | None:
        """The whole file of this name, or None."""
        try:
            with self.open(name) as file:
                return Found(file.read(), marked(os.fstat(file.fileno())))
        except FileNotFoundError:
            return None

    def open(self, name: str) -> BinaryIO:
        return os.fdopen(os.open(name, os.O_RDONLY, dir_fd=self._handle), "rb")

    def create_once(self, name: str, body: bytes) -> Mark | None:
        """Create this file, whole and on disk, unless the name is taken; None if it is.

        As `files.create_once`, but in this very folder, and readable for whoever may read the table.
        """
        draft = f".{name}.{uuid.uuid4().hex}{DRAFT}"
        try:
            mark = self._draft(draft, body)
            failpoints.reach("before:link")
            os.link(draft, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except FileExistsError:
            return None
        finally:
            self._remove(draft)
        failpoints.reach("after:link")
        os.fsync(self._handle)
        return mark

    def _draft(self, name: str, body: bytes) -> Mark:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=self._handle)
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
            return marked(os.fstat(file.fileno()))

    def _remove(self, name: str) -> None:
        try:
            os.unlink(name, dir_fd=self._handle)
        except FileNotFoundError:  # it could not even be made, or the folder went with all that was in it
            return


def marked(found: os.stat_result) -> Mark:
    return found.st_ino, found.st_mtime_ns, found.st_size
