"""The picture of a table, kept over batches and brought up to date from the end of its log.

It is built once, from the newest checkpoint and the commits after it. From then on only new commits are read, whoever
made them. It is believed only while the file it stands on is the very same one: a table that was dropped and made anew,
and a log that was cleaned away under us, are looked at anew.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from penstock.sinks.delta import snapshots
from penstock.sinks.delta.folder import Folder, Found
from penstock.sinks.delta.log import Mark, beside_files
from penstock.sinks.delta.picture import Picture
from penstock.sinks.delta.snapshots import Listing, Snapshot, Unreadable, commit_name, listing

POINTER = "_last_checkpoint"
NEVER = -1
"""The version before the first."""
LOOKS = 3
"""How often the log is listed anew when it changes while it is being read."""


@dataclass
class Checkpointed:
    """Where the newest checkpoint stands, and how much was committed since."""

    version: int
    size: int
    seconds: float
    """When it was written, since 1970."""
    since: int = 0
    """Bytes of the commits that we saw after it."""


class Tail:
    """The end of one table's log. Kept for the whole run."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.checkpointed = Checkpointed(NEVER, 0, 0.0)
        self._picture: Picture | None = None
        self._stands_on: tuple[str, Mark] | None = None
        self._pointer: Mark | None = None

    def forget(self) -> None:
        """Build the picture anew next time."""
        self._picture, self._stands_on, self._pointer = None, None, None

    def fresh(self, folder: Folder | None) -> Picture | None:
        """The picture at the newest version; None if there is no table. Raises Unreadable."""
        if folder is None:
            self.forget()
            return None
        try:
            if self._stands_on is None or folder.mark(self._stands_on[0]) != self._stands_on[1]:
                self._build(folder)
            else:
                self._follow(folder)
            if self._picture is not None and self._behind(folder):
                self._build(folder)
            return self._judged()
        except (ValueError, KeyError, TypeError) as error:
            self.forget()
            raise Unreadable(f"the log of {self.table}: {error}") from error

    def append(self, folder: Folder, body: bytes) -> int | None:
        """Make this the commit after the picture's version, and give that; None if another writer was faster.

        Spark's writer looks whether a version is free, and then renames its file into place whatever is there by then.
        So we look whether the file is ours still, and whether the log before it is the one that we stand on.
        """
        picture, stands_on = self._picture, self._stands_on
        assert picture is not None
        assert stands_on is not None
        name = commit_name(picture.version + 1)
        mark = folder.create_once(name, body)
        if mark is None:
            return None
        replaced = folder.mark(name) != mark or folder.mark(stands_on[0]) != stands_on[1]
        self._step(name, mark, body)
        if replaced or self._behind(folder):
            raise OSError(f"{name} was replaced, or the log before it, at the moment of the commit")
        return picture.version

    def _judged(self) -> Picture | None:
        if self._picture is not None and not self._picture.whole:
            raise Unreadable("it says neither what the columns are nor what the protocol is")
        if self._picture is not None:
            self._picture.objections  # noqa: B018 -- a log that makes no sense is to be noticed here
        return self._picture

    def _build(self, folder: Folder) -> None:
        """The picture from the newest checkpoint and the commits after it, as they lie there now."""
        for _ in range(LOOKS):
            self.forget()
            self._pointer = folder.mark(POINTER)
            found = listing(folder.names())
            if found.newest < 0 or (self._begin(folder, found) and not self._behind(folder)):
                return
        raise OSError(f"the log of {self.table} was cleaned {LOOKS} times while it was being read")

    def _begin(self, folder: Folder, found: Listing) -> bool:
        """Was everything still there that was listed?"""
        for snapshot in (*found.snapshots, None):
            version = snapshot.version if snapshot else NEVER
            if not found.reaches(version):
                raise Unreadable(f"commits are missing between version {version} and version {found.newest}")
            try:
                actions = snapshots.actions(folder, snapshot) if snapshot else []
                self._stand_on(folder, snapshot)
            except FileNotFoundError:
                return False
            except Unreadable:  # an older one, and more commits after it, will do
                continue
            self._picture = Picture(self.table, version, actions)
            self._follow(folder)
            return self._picture.version >= found.newest
        raise Unreadable("no checkpoint can be read, and the log does not go back to the first commit")

    def _stand_on(self, folder: Folder, snapshot: Snapshot | None) -> None:
        self.checkpointed = Checkpointed(NEVER, 0, 0.0)
        if snapshot is None:
            return
        marks = [folder.mark(name) for name in snapshot.names]
        if None in marks:
            raise FileNotFoundError(snapshot.names)
        known = [mark for mark in marks if mark]
        self._stands_on = snapshot.names[0], known[0]
        self.checkpointed = Checkpointed(snapshot.version, sum(mark[2] for mark in known), known[0][1] / 1e9)

    def _follow(self, folder: Folder) -> None:
        """Read the commits that are new."""
        while self._picture is not None:
            name = commit_name(self._picture.version + 1)
            found = folder.read(name)
            if found is None:
                return
            self._step(name, found.mark, found.body)

    def _step(self, name: str, mark: Mark, body: bytes) -> None:
        assert self._picture is not None
        self._picture.grow(beside_files(body))
        self._stands_on = name, mark
        self.checkpointed.since += len(body)

    def _behind(self, folder: Folder) -> bool:
        """Does a new pointer name a checkpoint beyond the last commit that we can see?

        Then commits were cleaned away before we came to read them, and the next version is not the one after ours.
        Whoever cleans a log has written a checkpoint and the pointer to it first: so the pointer is looked at last. One
        that was there when the log was listed says nothing: it may be old or damaged, and the listing knows better.
        """
        assert self._picture is not None
        mark = folder.mark(POINTER)
        if mark == self._pointer:
            return False
        self._pointer = mark
        version = _named(folder.read(POINTER))
        if version > self._picture.version:
            return True
        size = folder.mark(f"{version:020d}.checkpoint.parquet") if version > self.checkpointed.version else None
        if size and mark:
            self.checkpointed = Checkpointed(version, size[2], mark[1] / 1e9)
        return False


def _named(pointer: Found | None) -> int:
    """The version that the pointer names; -1 if there is none, or it cannot be read."""
    try:
        return int(json.loads(pointer.body)["version"]) if pointer else NEVER
    except (ValueError, KeyError, TypeError):
        return NEVER
