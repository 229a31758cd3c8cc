"""Is Spark's checkpoint whole? Every file that Spark will read at a start, with the safe repair for each.

Spark itself fails with a parser's stack trace, or starts at batch 0 without a word. Files that it will not read again
are not looked at.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator

from penstock import files
from penstock.errors import Refused
from penstock.files import Place, Remote
from penstock.ledger.checkpoint import Checkpoint

NOTHING = "Nothing was written."


def check_whole(pipeline: str, checkpoint: Checkpoint, begun: int | None, rebuild: str) -> None:
    """Refuse a checkpoint that is damaged or lacks a file. `begun` is the newest batch that the ledger has begun."""
    planned, committed = checkpoint.planned, checkpoint.committed
    if planned is None:
        return  # nothing there, or nothing but `metadata`: the comparison with the ledger says what that means
    for path, wrong in _damaged(checkpoint, planned, committed):
        raise Refused(
            f"{pipeline}: the checkpoint is damaged: {path} {wrong}.",
            data=f"A power cut, a full disk or a copy of a running pipeline can do that. {NOTHING}",
            remedy=_repair(path, checkpoint, planned, committed, begun, rebuild),
        )
    behind = -1 if committed is None else committed
    if behind < planned - 1:
        raise Refused(
            f"{pipeline}: half of the checkpoint is missing: {checkpoint.folder}/offsets ends at batch {planned}, "
            f"{checkpoint.folder}/commits {f'at batch {committed}' if committed is not None else 'is empty'}.",
            data=f"Spark commits one batch before it plans the next, so files were deleted or not copied. {NOTHING}",
            remedy=f"Restore the state folder whole, from one moment; or go on from what the sinks hold:  {rebuild}",
        )


def _damaged(checkpoint: Checkpoint, planned: int, committed: int | None) -> Iterator[tuple[Place, str]]:
    folder = checkpoint.folder
    yield from _wrong(folder / "metadata", lines=1, places=(0,))
    for batch_id in (planned, planned - 1):
        if batch_id >= 0:
            yield from _wrong(folder / "offsets" / str(batch_id), lines=3, places=(1, 2))
    if committed is not None:
        yield from _wrong(folder / "commits" / str(committed), lines=2, places=(1,))
    if planned == 0 and committed is None:
        yield from _wrong(folder / "sources" / "0" / "0", lines=2, places=(1,))


def _wrong(path: Place, *, lines: int, places: tuple[int, ...]) -> Iterator[tuple[Place, str]]:
    """What is wrong with this file: it has so many lines, and those at `places` are JSON objects."""
    body = files.read(path)
    if body is None:
        yield path, "is missing"
        return
    found = body.decode(errors="replace").splitlines()
    if len(found) < lines or not all(_is_object(found[place]) for place in places):
        yield path, f"is cut off: it holds {len(body)} bytes that are not all that Spark writes there"
    elif not _agrees(path, body):
        yield path, f"does not agree with its checksum .{path.name}.crc"


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _agrees(path: Place, body: bytes) -> bool:
    """Hadoop's own checksum of the file, where there is one: Spark would refuse to read a file that differs."""
    sums = files.read(path.with_name(f".{path.name}.crc"))
    if sums is None or len(sums) < 8 or sums[:4] != b"crc\0":
        return True
    [size] = struct.unpack(">I", sums[4:8])
    blocks = [body[at : at + size] for at in range(0, len(body), size)]
    return sums[8:] == b"".join(struct.pack(">I", zlib.crc32(block)) for block in blocks)


def _repair(
    path: Place, checkpoint: Checkpoint, planned: int, committed: int | None, begun: int | None, rebuild: str
) -> str:
    """The smallest safe step. Spark repeats a batch whose commit it does not find, and penstock recognises it."""
    if isinstance(path, Remote):
        away = f"hdfs dfs -rm -f {path}"
    else:
        away = f"rm -f {path} {path.with_name(f'.{path.name}.crc')}"
    if path.parent.name == "commits":
        return f"Safe: delete it; the batch is gone through once more, and recognised:  {away}"
    not_begun = begun is None or begun < planned
    if path == checkpoint.folder / "offsets" / str(planned) and planned != committed and not_begun:
        return f"Safe: delete it; nothing of batch {planned} was begun, and Spark plans it anew:  {away}"
    return (
        f"Restore this file from a backup; or go on from what ledger and sinks hold, with a new checkpoint:  {rebuild}"
    )
