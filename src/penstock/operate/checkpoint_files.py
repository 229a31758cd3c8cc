"""The files of a checkpoint: sizes, times, checksums."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from penstock import files

MOST_STATE_FILES = 50_000
"""Beyond so many the state is not looked at to its end."""


@dataclass(frozen=True)
class StateSize:
    """The state of the job's stateful operators, as far as files tell."""

    operators: int
    files: int
    bytes: int
    whole: bool = True
    """Whether all of it was looked at."""


def state_size(folder: Path) -> StateSize | None:
    """How large the state of a stateful job is; None if it has none."""
    if not folder.is_dir():
        return None
    operators = sum(1 for path in files.listed(folder) if path.name.isdecimal())
    count = size = 0
    for path in folder.rglob("*"):
        if count >= MOST_STATE_FILES:
            return StateSize(operators, count, size, whole=False)
        try:
            if path.is_file():
                count, size = count + 1, size + path.stat().st_size
        except FileNotFoundError:
            continue  # the job tidies up meanwhile
    return StateSize(operators, count, size)


def crc_holds(path: Path, body: bytes) -> bool | None:
    """Does the file agree with the checksum beside it, as Hadoop's local file system keeps it? None: there is none."""
    kept = files.read(path.with_name(f".{path.name}.crc"))
    if kept is None or len(kept) < 8 or kept[:4] != b"crc\0":
        return None
    (size,) = struct.unpack(">i", kept[4:8])
    if size <= 0:
        return None
    sums = [zlib.crc32(body[at : at + size]) for at in range(0, len(body), size)]
    return kept[8:] == b"".join(struct.pack(">I", each) for each in sums)


def checksums(folder: Path) -> list[int]:
    """The numbers of the batches that have a checksum in this log."""
    names = (path.name for path in files.listed(folder))
    stems = (name[1:-4] for name in names if name.startswith(".") and name.endswith(".crc"))
    return sorted(int(stem) for stem in stems if stem.isdecimal())


def changed_at(path: Path) -> float | None:
    """When the file was last written, in seconds since 1970; None if it is gone."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return None
