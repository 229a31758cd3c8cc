"""The one door to <state>: files that are created once, durably, and never half there.

On a local disk `create_once` links a finished, fsynced file into place: the link fails if the name is taken, so of any
number of racing writers one wins, and a crash leaves either the whole file or none. `Files` is what any other file
system must promise: see hadoop.py.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Protocol

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


def create_once(path: Path, body: bytes) -> bytes:
    """Create `path` unless it is there; give back what stands there now, ours or the winner's.

    When this returns, the file and its name have reached the disk.
    """
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


def replace(path: Path, body: bytes) -> None:
    """Write `path` anew: a reader sees the old body or the new one. For progress, never for the ledger."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    draft.write_bytes(body)
    draft.replace(path)


def read(path: Path) -> bytes | None:
    """The file's bytes, or None if there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_json(path: Path) -> dict[str, Any] | None:
    body = read(path)
    return None if body is None else parse(path, body)


def parse(path: Path, body: bytes) -> dict[str, Any]:
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


def numbered(folder: Path, suffix: str = "") -> list[int]:
    """The numbers N of the files `N<suffix>` in `folder`, ascending."""
    names = (path.name for path in listed(folder))
    stems = (name.removesuffix(suffix) for name in names if name.endswith(suffix))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def listed(folder: Path) -> list[Path]:
    """Everything in `folder`; nothing, if there is no such folder."""
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def remove(paths: Iterable[Path]) -> None:
    """Remove these files; one that is gone already is fine."""
    for path in paths:
        path.unlink(missing_ok=True)


def remove_tree(folder: Path) -> None:
    """Remove `folder` and all in it; nothing there is fine."""
    if folder.exists():
        shutil.rmtree(folder)


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
