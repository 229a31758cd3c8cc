"""The table's folder and log as files. The one place of this sink that knows they lie on a local disk."""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from penstock.files import sync
from penstock.sinks.contract import FrozenFile, told_in

LOG = "_delta_log"
OLD_SECONDS = 86_400
Mark = tuple[int, int, int]
"""What tells one commit file from another of the same name: inode, time, size."""
_ABOUT_FILES = (b'{"add":', b'{"remove":', b'{"cdc":')
"""How lines of a commit begin that are about files. Each line is one action."""


@dataclass(frozen=True)
class Commit:
    """One commit of ours, found in the log."""

    version: int
    story: dict[str, Any]


def exists(table: str) -> bool:
    """Is there a Delta table? A log folder without a commit is not one."""
    try:
        with os.scandir(Path(table) / LOG) as found:
            return any(entry.name.endswith((".json", ".parquet")) for entry in found)
    except (FileNotFoundError, NotADirectoryError):
        return False


def strangers(table: str) -> list[str]:
    """Files in the folder that no table accounts for; hidden ones do not count, Delta ignores them too."""
    return sorted(name for name in _names(Path(table)) if not name.startswith((".", "_")))


def mark(table: str, version: int) -> Mark | None:
    """Which commit file stands under this version, or None. A table dropped and made anew has others."""
    try:
        found = _commit(table, version).stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def find(table: str, app: str, batch_id: int, newest: int) -> Commit | None:
    """The commit of this batch, looked for from the newest version backwards as far as the log goes."""
    return _look(table, app, batch_id, range(newest, -1, -1))


def find_after(table: str, app: str, batch_id: int, version: int) -> Commit | None:
    """The commit of this batch, looked for in the versions after this one."""
    return _look(table, app, batch_id, count(version + 1))


def _look(table: str, app: str, batch_id: int, versions: Iterable[int]) -> Commit | None:
    return look(lambda version: text_of(table, version), app, batch_id, versions)


def look(read: Callable[[int], str | None], app: str, batch_id: int, versions: Iterable[int]) -> Commit | None:
    """The commit of this batch among these versions, as far as the log goes."""
    for version in versions:
        text = read(version)
        if text is None:
            return None
        if app in text and (found := _read(text, app, batch_id)) is not None:
            return Commit(version, found)
    return None


def text_of(table: str, version: int) -> str | None:
    """The commit of this version as it stands in the log; None where the log does not reach."""
    body = body_of(table, version)
    return None if body is None else body.decode()


def body_of(table: str, version: int) -> bytes | None:
    """The same, as bytes."""
    try:
        return _commit(table, version).read_bytes()
    except FileNotFoundError:
        return None


def actions_in(text: str) -> list[dict[str, Any]]:
    """The actions of a commit."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def beside_files(body: bytes) -> list[dict[str, Any]]:
    """The actions of a commit that are not about files: a handful, however many files it adds or removes."""
    lines = (line.strip() for line in body.split(b"\n"))
    return [json.loads(line) for line in lines if line and not line.startswith(_ABOUT_FILES)]


def batches_in(actions: Iterable[dict[str, Any]], app: str) -> list[int]:
    """The versions that a commit sets for this application id: ours are batches."""
    return [action["txn"]["version"] for action in actions if action.get("txn", {}).get("appId") == app]


def story_in(actions: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """What a commit of ours says of its batch."""
    return told_in(next((each["commitInfo"].get("userMetadata") for each in actions if "commitInfo" in each), None))


def _read(text: str, app: str, batch_id: int) -> dict[str, Any] | None:
    """The story of a commit, if it is the one of this batch; empty if it has none of ours."""
    actions = actions_in(text)
    return story_in(actions) if batch_id in batches_in(actions, app) else None


def keep(table: str, version: int) -> None:
    """Bring a commit to the disk: the ledger will say that it happened, so it must outlive a power cut."""
    sync(_commit(table, version))
    sync(Path(table) / LOG)


def keep_if_there(table: str, version: int) -> None:
    """The same for a commit of an earlier try, which may have died before it had done so."""
    try:
        keep(table, version)
    except FileNotFoundError:
        return  # cleaned from the log: it is older than any power cut that could matter


def keep_whole(table: str, version: int) -> None:
    """The same for a commit of Spark's, which syncs nothing: the files that it added, their folders, and itself."""
    text = text_of(table, version)
    if text is None:
        return  # cleaned from the log: it is older than any power cut that could matter
    added = [Path(table, unquote(action["add"]["path"])) for action in actions_in(text) if "add" in action]
    for path in (*added, *{file.parent for file in added}):
        sync(path)
    keep(table, version)


def keep_new(table: str) -> None:
    """The same for a table that was just created, with the folder's own name."""
    keep(table, 0)
    sync(Path(table))
    sync(Path(table).parent)


def damaged(table: str, files: Sequence[FrozenFile]) -> Iterator[str]:
    """The files that are not there as they were written, in words."""
    for file in files:
        try:
            size = (Path(table) / file.path).stat().st_size
        except FileNotFoundError:
            yield f"file {file.path} is gone"
        else:
            if size != file.size:
                yield f"file {file.path} has {size} bytes instead of {file.size}"


def renewed(table: str, files: Sequence[FrozenFile]) -> list[FrozenFile]:
    """The files, those of yesterday or older copied under new names.

    A VACUUM deletes files that nobody committed after seven days. One that listed the old names before our commit
    could delete them after it; it cannot know the new ones.
    """
    return [_copied(Path(table), file) if _is_old(Path(table, file.path)) else file for file in files]


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > OLD_SECONDS


def _copied(folder: Path, file: FrozenFile) -> FrozenFile:
    name = f"part-again-{uuid.uuid4()}.zstd.parquet"
    shutil.copyfile(folder / file.path, folder / name)
    sync(folder / name)
    sync(folder)
    return replace(file, path=name)


def _commit(table: str, version: int) -> Path:
    return Path(table) / LOG / f"{version:020d}.json"


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
