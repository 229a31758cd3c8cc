"""A shelf: numbered records that are created once. The newest are files, older ones are folded into archives.

    outcomes/12345.json                          one file a batch
    outcomes-000000000-000009999.jsonl.gz        older ones, a line each: read them with zcat

An archive is created whole before the files in it are removed, and what is removed is what the archive on disk holds.
So a crash leaves some records in two places, never in none; whoever folds next removes the rest.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from penstock import files
from penstock.files import Place

BLOCK = 1000
"""Records of the smallest archive; so many of the newest are always files."""
FAN, LARGEST = 10, 100_000
"""So many archives of one size become one of the next, up to this many records."""
Record = dict[str, Any]


class Archive(NamedTuple):
    first: int
    last: int
    path: Place

    def __len__(self) -> int:
        return self.last - self.first + 1


class Shelf:
    """The records of one kind, by number. Readers see no difference between a file and a line of an archive."""

    def __init__(self, folder: Place, kind: str) -> None:
        self.folder, self.kind = folder, kind

    def put(self, number: int, record: Record) -> Record:
        """Create the record, unless it is there; what stands under this number now."""
        old = self._archived(number)
        if old is not None:
            return old
        path = self._path(number)
        return files.parse(path, files.create_once(path, files.to_json(record)))

    def get(self, number: int) -> Record | None:
        found = files.read_json(self._path(number))
        return found if found is not None else self._archived(number)

    @property
    def last(self) -> int | None:
        """The highest number."""
        numbers = files.numbered(self.folder / self.kind, ".json")
        return numbers[-1] if numbers else max((archive.last for archive in self.archives()), default=None)

    def newest(self, limit: int, before: int | None = None) -> list[int]:
        """The highest numbers below `before`, so many at most, descending. Costs a listing; no record is read."""
        top = before if before is not None else (self.last if self.last is not None else -1) + 1
        numbers = [number for number in files.numbered(self.folder / self.kind, ".json") if number < top]
        found = numbers[-limit:][::-1]
        for archive in reversed(self.archives()):
            upper = min(archive.last, (found[-1] if found else top) - 1)
            found += range(upper, max(archive.first, upper + 1 - (limit - len(found))) - 1, -1)
        return found[:limit]

    def at_hand(self, number: int) -> Record | None:
        """The record, if it is a file of its own still."""
        return files.read_json(self._path(number))

    def archived(self, numbers: Collection[int]) -> Iterator[Record]:
        """Those of these records that are in archives; each archive is opened once."""
        for archive in self.archives():
            if any(archive.first <= number <= archive.last for number in numbers):
                yield from (record for record in self._lines(archive) if record["batch_id"] in numbers)

    def records(self, since: int = 0) -> Iterator[Record]:
        """Every record from this number on, in order."""
        numbers = files.numbered(self.folder / self.kind, ".json")  # first: what is folded meanwhile is in an archive
        done = since - 1
        for archive in self.archives():
            if archive.last > done:
                for record in self._lines(archive):
                    if record["batch_id"] > done:
                        yield record
                        done = record["batch_id"]
        for number in numbers:
            found = self.get(number) if number > done else None
            if found is not None:
                yield found

    def fold(self) -> None:
        """Fold what is old into archives. To be called now and then; costs a listing when there is nothing to do."""
        numbers = files.numbered(self.folder / self.kind, ".json")
        if len(numbers) >= 2 * BLOCK:
            for block in range(numbers[0] // BLOCK, (numbers[-1] + 1) // BLOCK - 1):
                self._fold([number for number in numbers if number // BLOCK == block], block * BLOCK)
            self._merge()

    def archives(self) -> list[Archive]:
        """In the order of their records; one that is part of a larger one is left out."""
        outer: list[Archive] = []
        for archive in sorted(self._every(), key=lambda each: (each.first, -each.last)):
            if not outer or archive.last > outer[-1].last:
                outer.append(archive)
        return outer

    def _every(self) -> list[Archive]:
        pattern = re.compile(rf"{self.kind}-(\d+)-(\d+)\.jsonl\.gz")
        named = ((pattern.fullmatch(path.name), path) for path in files.listed(self.folder))
        return [Archive(int(match[1]), int(match[2]), path) for match, path in named if match]

    def _fold(self, numbers: list[int], first: int) -> None:
        present = [(number, files.read_json(self._path(number))) for number in numbers]
        lines = [_line(record) for _, record in present if record is not None]
        archive = self._archive(first, first + BLOCK - 1)
        if lines:
            stands = files.create_once(archive.path, gzip.compress(b"".join(lines), mtime=0))
            held = {record["batch_id"] for record in _records(stands)}
            files.remove([self._path(number) for number in numbers if number in held])

    def _merge(self) -> None:
        size = BLOCK
        while size < LARGEST:
            of_size = {archive.first: archive for archive in self.archives() if len(archive) == size}
            for first in [first for first in of_size if first % (size * FAN) == 0]:
                parts = [of_size.get(first + number * size) for number in range(FAN)]
                whole = [part for part in parts if part is not None]
                if len(whole) == FAN:
                    body = b"".join(_body(part) for part in whole)  # gzip files may stand in a row
                    files.create_once(self._archive(first, first + size * FAN - 1).path, body)
            size *= FAN
        self._tidy()

    def _tidy(self) -> None:
        """Remove archives that are part of a larger one."""
        kept = {archive.path for archive in self.archives()}
        files.remove([archive.path for archive in self._every() if archive.path not in kept])

    def _archived(self, number: int) -> Record | None:
        for archive in self.archives():
            if archive.first <= number <= archive.last:
                return next((record for record in self._lines(archive) if record["batch_id"] == number), None)
        return None

    def _lines(self, archive: Archive) -> Iterator[Record]:
        body = files.read(archive.path)
        if body is None:  # just merged into a larger one
            archive = next(each for each in self.archives() if each.first <= archive.first <= each.last)
            body = _body(archive)
        yield from _records(body)

    def _archive(self, first: int, last: int) -> Archive:
        return Archive(first, last, self.folder / f"{self.kind}-{first:09d}-{last:09d}.jsonl.gz")

    def _path(self, number: int) -> Place:
        return self.folder / self.kind / f"{number}.json"


def _body(archive: Archive) -> bytes:
    body = files.read(archive.path)
    if body is None:
        raise FileNotFoundError(str(archive.path))
    return body


def _line(record: Record) -> bytes:
    return (json.dumps(record, sort_keys=True, separators=(",", ":")) + "\n").encode()


def _records(body: bytes) -> Iterator[Record]:
    for line in gzip.decompress(body).splitlines():
        yield json.loads(line)
