"""The one door to <state>: files that are created once, durably, and never half there.

On a local disk `create_once` links a finished, fsynced file into place: the link fails if the name is taken, so of any
number of racing writers one wins, and a crash leaves either the whole file or none. `Files` is what any other file
system must promise: see hadoop.py. The functions below take a `Place`: a local path, or a `Remote` one elsewhere.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from penstock.errors import Refused


class Files(Protocol):
    """A file system that can hold a ledger. Paths are texts: whole URIs, or local ones."""

    def create_once(self, path: str, body: bytes) -> bytes:
        """Create the file, whole and durable, unless it is there; what stands there now, ours or the winner's."""
        ...

    def read(self, path: str) -> bytes | None:
        """The file's bytes, or None if there is no such file."""
        ...

    def names(self, folder: str) -> list[str]:
        """The names in a folder, sorted; none, if there is no such folder."""
        ...

    def remove(self, paths: Iterable[str]) -> None:
        """Remove these files; one that is gone already is fine."""
        ...

    def remove_tree(self, folder: str) -> None:
        """Remove a folder and all in it; nothing there is fine."""
        ...

    def exists(self, path: str) -> bool:
        """Is there such a file or folder?"""
        ...

    def replace(self, path: str, body: bytes) -> None:
        """Write the file anew: a reader sees the old body or the new one. Never for the ledger."""
        ...

    def move(self, path: str, to: str) -> None:
        """Give a file or a folder another name, under which nothing stands yet."""
        ...

    def put(self, local: Path, path: str) -> None:
        """Copy a local file there, durably. Its name must be one that nobody else writes to."""
        ...

    def fetch(self, path: str, local: Path) -> None:
        """Copy the file to the local disk, whole or not at all. Raises FileNotFoundError if there is none."""
        ...


@dataclass(frozen=True)
class Remote:
    """A file or a folder on another file system: as much of a `Path` as the ledger needs."""

    uri: str
    on: Files = field(compare=False, repr=False)
    here: Path
    """What stands for it on this machine: where tasks write what is then put there, and where it is fetched to."""

    def __truediv__(self, name: str) -> Remote:
        return Remote(f"{self.uri}/{name}", self.on, self.here / name)

    @property
    def name(self) -> str:
        return self.uri.rpartition("/")[2]

    @property
    def parent(self) -> Remote:
        return Remote(self.uri.rpartition("/")[0], self.on, self.here.parent)

    def with_name(self, name: str) -> Remote:
        return self.parent / name

    def exists(self) -> bool:
        return self.on.exists(self.uri)

    def __str__(self) -> str:
        return self.uri


Place: TypeAlias = Path | Remote
"""Where a part of the state is."""


def here(place: Place) -> Path:
    """The folder of this machine that stands for `place`: itself, if it is local."""
    return place if isinstance(place, Path) else place.here


class LocalFiles:
    """The local disk, as `Files` promises it."""

    def create_once(self, path: str, body: bytes) -> bytes:
        return create_once(Path(path), body)

    def read(self, path: str) -> bytes | None:
        return read(Path(path))

    def names(self, folder: str) -> list[str]:
        return sorted(path.name for path in listed(Path(folder)))

    def remove(self, paths: Iterable[str]) -> None:
        remove(Path(path) for path in paths)

    def remove_tree(self, folder: str) -> None:
        remove_tree(Path(folder))

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def replace(self, path: str, body: bytes) -> None:
        replace(Path(path), body)

    def move(self, path: str, to: str) -> None:
        move(Path(path), Path(to))

    def put(self, local: Path, path: str) -> None:
        whole_copy(local, Path(path))

    def fetch(self, path: str, local: Path) -> None:
        whole_copy(Path(path), local)


def create_once(path: Place, body: bytes) -> bytes:
    """Create `path` unless it is there; give back what stands there now, ours or the winner's.

    When this returns, the file and its name have reached the disk.
    """
    if isinstance(path, Remote):
        return path.on.create_once(path.uri, body)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(path, body)
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_bytes()
    finally:
        draft.unlink()
        sync(path.parent)
    return body


def replace(path: Place, body: bytes) -> None:
    """Write `path` anew: a reader sees the old body or the new one. For progress, never for the ledger."""
    if isinstance(path, Remote):
        path.on.replace(path.uri, body)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    draft.write_bytes(body)
    draft.replace(path)


def read(path: Place) -> bytes | None:
    """The file's bytes, or None if there is no such file."""
    if isinstance(path, Remote):
        return path.on.read(path.uri)
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_json(path: Place) -> dict[str, Any] | None:
    body = read(path)
    return None if body is None else parse(path, body)


def parse(path: Place, body: bytes) -> dict[str, Any]:
    """The object in this file. Refuses a file that is not whole: ours always are, so somebody or the disk cut it."""
    try:
        return dict(json.loads(body))
    except (ValueError, TypeError) as error:
        raise Refused(
            f"{path} is damaged: it holds {len(body)} bytes that are not a whole JSON object.",
            data="penstock never leaves such a file: the disk failed, or it was edited. Nothing was written.",
            remedy="Restore this file from a backup. If there is none, go on from what the sinks hold:  "
            "penstock checkpoint rebuild",
        ) from error


def to_json(value: dict[str, Any]) -> bytes:
    """Bytes that a person can read and that are equal for equal values."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def numbered(folder: Place, suffix: str = "") -> list[int]:
    """The numbers N of the files `N<suffix>` in `folder`, ascending."""
    names = (path.name for path in listed(folder))
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def listed(folder: Place) -> list[Place]:
    """Everything in `folder`; nothing, if there is no such folder."""
    if isinstance(folder, Remote):
        return [folder / name for name in folder.on.names(folder.uri)]
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def remove(paths: Iterable[Place]) -> None:
    """Remove these files; one that is gone already is fine."""
    for path in paths:
        if isinstance(path, Remote):
            path.on.remove([path.uri])
        else:
            path.unlink(missing_ok=True)


def remove_tree(folder: Place) -> None:
    """Remove `folder` and all in it; nothing there is fine."""
    if isinstance(folder, Remote):
        folder.on.remove_tree(folder.uri)
    elif folder.exists():
        shutil.rmtree(folder)


def move(path: Place, to: Place) -> None:
    """Give a file or a folder another name on the same file system; nothing must stand there yet."""
    if isinstance(path, Remote):
        path.on.move(path.uri, str(to))
    else:
        path.rename(str(to))


def whole_copy(path: Path, to: Path) -> None:
    """Copy a local file: under its new name it is whole, and on the disk."""
    to.parent.mkdir(parents=True, exist_ok=True)
    draft = to.with_name(f".{to.name}.{uuid.uuid4().hex}")
    shutil.copyfile(path, draft)
    sync(draft)
    draft.replace(to)
    sync(to.parent)


def _draft(path: Path, body: bytes) -> Path:
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        draft.unlink()
        raise
    return draft


def sync(path: Path) -> None:
    """Bring a file or a folder to the disk, so that it outlives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
