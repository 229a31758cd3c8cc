"""Sampling a file of records, one a line: spread over the whole of it, in one pass, in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO

from penstock.authoring.recognise import COMPRESSED, MAGIC
from penstock.authoring.sample import Sample, Taken
from penstock.authoring.values import problem_with
from penstock.counting import counted
from penstock.errors import PenstockError

LONGEST = 16_000_000
"""Bytes of a line; more is no record."""
MOST_BYTES = 16_000_000
BOM = b"\xef\xbb\xbf"


def sample_lines(stream: BinaryIO, name: str, records: int) -> Sample:
    """At most so many lines, every n-th of them. Raises where the file is not made of lines at all."""
    head = stream.peek(16)[:16] if hasattr(stream, "peek") else b""
    if packed := next((word for magic, word in MAGIC if word in COMPRESSED and head.startswith(magic)), None):
        raise _unusable(name, f"is {packed}-compressed.", "Unpack it first:  zcat FILE | penstock init --from -")
    taken, total = _spread(_lines(stream, name), records)
    if taken and not any(problem_with(value) is None for _, value in taken) and _is_document(taken[0][1]):
        shown = "JSON over many lines, not one record a line."
        raise _unusable(name, f"holds {shown}", "Write one object a line:  jq -c '.[]' FILE | penstock init --from -")
    found = [Taken(f"line {number}", value) for number, value in taken]
    whole = len(found) == total
    how = f"all {counted(total, 'line')}" if whole else f"{len(found):,} of {counted(total, 'line')}, evenly spread"
    return Sample(found, name, how)


def _lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Number and content of every line that is not blank."""
    number = 0
    while line := stream.readline(LONGEST + 2):
        number += 1
        if len(line) > LONGEST and not line.endswith(b"\n"):
            raise _unusable(
                name, f"line {number} is longer than {LONGEST // 1_000_000} MB.", "Is it one record a line?"
            )
        value = line.removesuffix(b"\n").removesuffix(b"\r")
        value = value.removeprefix(BOM) if number == 1 else value
        if value.strip():
            yield number, value


def _spread(lines: Iterable[tuple[int, bytes]], most: int) -> tuple[list[tuple[int, bytes]], int]:
    """So many lines, evenly spread, and how many there were.

    Every n-th line is held, n being doubled whenever there are twice as many as wanted; the rest is thinned out.
    """
    held: list[tuple[int, bytes]] = []
    step, size, total = 1, 0, 0
    for total, line in enumerate(lines, 1):
        if (total - 1) % step:
            continue
        held.append(line)
        size += len(line[1])
        while len(held) > 1 and (len(held) > 2 * most or size > MOST_BYTES):
            held, step = held[::2], step * 2
            size = sum(len(value) for _, value in held)
    wanted = min(most, len(held))
    return [held[place * len(held) // wanted] for place in range(wanted)], total


def _is_document(first: bytes) -> bool:
    """The first line opens an array or an object and does not close it."""
    return first.strip() in (b"[", b"{", b"[{") or first.strip()[:2] == b"[{"


def _unusable(name: str, what: str, remedy: str) -> PenstockError:
    return PenstockError(f"init: {name} {what}", data="No file was written.", remedy=remedy)
