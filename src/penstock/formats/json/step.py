"""One step of the JSON decoder: a few thousand values through the guards, the parser and the scanner."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.formats.arrow_nulls import filled
from penstock.formats.json.admit import admitted
from penstock.formats.json.arrow import NONE, Indices, converted, suspects
from penstock.formats.json.lines import Lines
from penstock.formats.json.readers import Good
from penstock.formats.json.scan import Problem
from penstock.formats.json.unknown import Doubtful
from penstock.rows import Verdict

if TYPE_CHECKING:
    from penstock.formats.json.columns import JsonDecoder

SMALL = 4096
MANY_LINES = 512
"""Records of several lines each that are parsed at once: such a block cannot be cut further."""
FEW = 1 / 8
"""Share of bytes in records with unknown fields up to which it costs less to scan these than to search all."""
ROW = re.compile(r" in row (\d+)$")
TEXT = re.compile(
    r"couldn't parse:(?P<scalar>.*)$|: (?P<number>.*) requires (?:scale|precision) -?\d+$"
    r"|^The string '(?P<text>.*)' is not a valid",
    re.DOTALL,
)
"""The parser's messages: some name the row, some only the text that it could not convert."""


class Step:
    """The values of one step and what became of each; row numbers count from the step's first value."""

    def __init__(self, decoder: JsonDecoder, values: pa.Array) -> None:
        self.decoder, self.values, self.size = decoder, values, len(values)
        self.lenient = decoder.lenient
        self.failures = 0
        """How often the parser refused a range."""
        self.held = 0
        """How many records the sieve held back."""
        self.verdicts: list[Verdict] = []
        self.unknown: list[tuple[int, tuple[str, ...]]] = []
        self._taken: list[tuple[int, bool, pa.RecordBatch]] = []
        """What the parser gave: index of the first record, whether unknown fields were ignored, the batch."""
        self._parsed: list[tuple[Indices, pa.RecordBatch]] = []
        self._scanned: list[tuple[int, Good]] = []

    def run(self) -> pa.RecordBatch:
        """One row per value, in order; null where there is a verdict."""
        lines = self._sieved(admitted(self))
        size, done = len(lines) if lines.plain else MANY_LINES, 0
        ranges = [(first, min(first + size, len(lines))) for first in range(0, len(lines), size or 1)][::-1]
        while ranges:
            first, last = ranges.pop()
            if self._is_for_scanner(lines, first, last, done):
                for index in range(first, last):
                    self._judge(lines, index)
                left = []
            else:
                left = self._attempt(lines, first, last)
            done += last - first - sum(b - a for a, b in left)
            ranges += reversed(left)
        if self._taken:
            self._keep(lines)
        return self._assembled()

    def _is_for_scanner(self, lines: Lines, first: int, last: int, done: int) -> bool:
        """Whether to scan the records of this range one by one.

        Where much is bad, taking the bad ones out costs more than scanning all; and a parser call costs more than
        scanning one small record.
        """
        alone = last - first < 2 and lines.starts[last] - lines.starts[first] < SMALL
        return self.decoder.parse is None or alone or self.failures > 8 + done // 8

    def without(self, lines: Lines, out: list[int]) -> Lines:
        """The lines that are left when the scanner has judged these."""
        for index in out:
            self._judge(lines, index)
        return lines.without(out) if out else lines

    def _sieved(self, lines: Lines) -> Lines:
        """Where much is bad, without what the parser would refuse anyway."""
        if not self.decoder.sieving or self.decoder.parse is None:
            return lines
        out = [i for i, text in enumerate(lines.records(0, len(lines))) if not self.decoder.sieve.passes(text)]
        self.held = len(out)
        return self.without(lines, out)

    def scan(self, row: int, data: bytes) -> None:
        found = self.decoder.scanner.scan(data)
        if isinstance(found, Problem):
            self.verdicts.append(Verdict(row, found.code, found.field, found.detail))
            return
        self._scanned.append((row, found))
        if found.unknown:
            self.unknown.append((row, found.unknown))

    def _judge(self, lines: Lines, index: int) -> None:
        """Let the scanner decide on this record, as it came."""
        row = int(lines.rows[index])
        self.scan(row, self.values[row].as_py())

    def _attempt(self, lines: Lines, first: int, last: int) -> list[tuple[int, int]]:
        """Parse a range, block by block; the ranges that are left to do.

        A block that the parser refuses costs the work on that block alone: those before it are kept.
        """
        assert self.decoder.parse is not None
        size, done = self._block_bytes(lines, first, last), first
        end = min(last, lines.before(first, size))
        try:
            for number, batch in enumerate(self.decoder.parse(lines.part(first, last), size, self.lenient), 2):
                if done + batch.num_rows != end:
                    return self._failed(lines, done, end, last, "several documents in a record")
                self._taken.append((done, self.lenient, batch))
                done, end = end, min(last, lines.before(first, number * size))
        except pa.ArrowInvalid as error:
            return self._failed(lines, done, end, last, str(error))
        return [] if done == last else self._failed(lines, done, last, last, "several documents in a record")

    def _block_bytes(self, lines: Lines, first: int, last: int) -> int:
        """Blocks end where lines end, so each must hold one; a record of several lines must not be cut."""
        if not lines.plain:
            return int(lines.starts[last] - lines.starts[first]) + 1
        return max(self.decoder.block_bytes, 2 * lines.longest(first, last))

    def _failed(self, lines: Lines, first: int, end: int, last: int, message: str) -> list[tuple[int, int]]:
        """A block was refused: take out what is bad in it; the ranges that are left to do, up to `last`."""
        self.failures += 1
        left = self._cut(lines, first, end, message)
        if left and left[-1][1] == end:
            return [*left[:-1], (left[-1][0], last)]
        return [*left, (end, last)] if end < last else left

    def _cut(self, lines: Lines, first: int, last: int, message: str) -> list[tuple[int, int]]:
        """Judge the records that the parser's message points at; the ranges between them are left to do."""
        if message.endswith("unexpected field") and self.decoder.unknown_fields != "reject":
            return self._cut_unknown(lines, first, last)
        if last - first < 2:
            self._judge(lines, first)
            return []
        if match := ROW.search(message):
            bad = self._at_row(lines, first, last, first + int(match[1]))
        elif message.endswith("unexpected field"):
            bad = [index for index in range(first, last) if self._has_unknown(lines.record(index))]
            for index in bad:
                self._judge(lines, index)
        else:
            bad = self._with_text(lines, first, last, message)
        return _between(first, bad, last) if bad else _halves(first, last)

    def _cut_unknown(self, lines: Lines, first: int, last: int) -> list[tuple[int, int]]:
        """Where few records have unknown fields they are scanned; else the parser is told to ignore such fields."""
        records = enumerate(lines.records(first, last), first)
        found = [index for index, data in records if not self.decoder.sieve.knows_all(data)]
        size = sum(int(lines.starts[index + 1] - lines.starts[index]) for index in found)
        if not found or size > max(SMALL, FEW * int(lines.starts[last] - lines.starts[first])):
            self.lenient = True
            return [(first, last)]
        for index in found:
            self._judge(lines, index)
        return _between(first, found, last)

    def _at_row(self, lines: Lines, first: int, last: int, index: int) -> list[int]:
        """The record that the parser names; or the one before it: what follows an object counts as the next row.

        None if there are more objects than records, and the row it names is beyond the range.
        """
        if first < index <= last and self._is_bad(lines, index - 1):
            return [index - 1]
        if index >= last:
            return []
        self._judge(lines, index)
        return [index]

    def _has_unknown(self, data: bytes) -> bool:
        try:
            return bool(self.decoder.finder.find(data).names)
        except Doubtful:
            return True

    def _with_text(self, lines: Lines, first: int, last: int, message: str) -> list[int]:
        """Bad records that hold the text which the parser could not convert; if it names none, those that are
        not one JSON value."""
        match = TEXT.search(message)
        text = next((group for group in match.groups() if group is not None), None) if match else None
        if text is None:
            records = enumerate(lines.records(first, last), first)
            found = [index for index, data in records if not self.decoder.sieve.is_json(data)]
        else:
            found = lines.holding(text.encode() or b'""', first, last, limit=4)
        return [index for index in found if self._is_bad(lines, index)]

    def _is_bad(self, lines: Lines, index: int) -> bool:
        if isinstance(self.decoder.scanner.scan(lines.record(index)), Problem):
            self._judge(lines, index)
            return True
        return False

    def _keep(self, lines: Lines) -> None:
        """Keep what was parsed, but for the records that need the scanner."""
        batch = pa.concat_batches([part for _, _, part in self._taken]) if len(self._taken) > 1 else self._taken[0][2]
        indices = np.concatenate([np.arange(first, first + part.num_rows) for first, _, part in self._taken])
        checks = [suspects(batch.column(i), self.decoder.fields[i]) for i in self.decoder.to_check]
        out = np.unique(np.concatenate([NONE, *checks]))
        kept, unsure = self._unknown_of(lines, len(indices), set(out.tolist()))
        out = np.union1d(out, unsure) if unsure else out
        rows = lines.rows[indices]
        if len(out):
            for index in indices[out]:
                self._judge(lines, int(index))
            stay = pa.array(np.setdiff1d(np.arange(len(indices)), out))
            rows, batch, kept = np.delete(rows, out), batch.take(stay), kept.take(stay)
        columns = [converted(batch.column(i), field.type) for i, field in enumerate(self.decoder.fields)]
        if self.decoder.unknown_fields == "keep":
            columns.append(kept)
        self._parsed.append((rows, pa.RecordBatch.from_arrays(columns, schema=self.decoder.nullable)))

    def _unknown_of(self, lines: Lines, count: int, out: set[int]) -> tuple[pa.Array, list[int]]:
        """What the parsed records hold beside the schema, and those that the scanner must look at for it."""
        if not any(lenient for _, lenient, _ in self._taken):
            return pa.nulls(count, pa.string()), []
        kept: list[str | None] = [None] * count
        unsure = []
        place = 0
        for first, lenient, part in self._taken:
            for index, text in enumerate(lines.records(first, first + part.num_rows) if lenient else ()):
                if place + index in out:
                    continue
                try:
                    names, kept[place + index] = self.decoder.finder.find(text)
                except Doubtful:
                    unsure.append(place + index)
                    continue
                if names:
                    self.unknown.append((int(lines.rows[first + index]), names))
            place += part.num_rows
        return pa.array(kept, pa.string()), unsure

    def _assembled(self) -> pa.RecordBatch:
        batch = self._in_order()
        if not self.decoder.to_fill:
            return batch
        columns = [filled(batch.column(i), field) for i, field in enumerate(self.decoder.fields)]
        return pa.RecordBatch.from_arrays([*columns, *batch.columns[len(columns) :]], schema=batch.schema)

    def _in_order(self) -> pa.RecordBatch:
        parts = [*self._parsed, *([self._scanned_batch()] if self._scanned else [])]
        schema = self.decoder.nullable
        if not parts:
            return pa.RecordBatch.from_arrays([pa.nulls(self.size, field.type) for field in schema], schema=schema)
        batch = pa.concat_batches([part for _, part in parts]) if len(parts) > 1 else parts[0][1]
        rows = np.concatenate([rows for rows, _ in parts])
        if len(rows) == self.size and (rows[1:] > rows[:-1]).all():
            return batch
        places = np.full(self.size, -1, np.int64)
        places[rows] = np.arange(len(rows))
        return batch.take(pa.array(places, mask=places < 0))

    def _scanned_batch(self) -> tuple[Indices, pa.RecordBatch]:
        """The records that the scanner found good."""
        schema = self.decoder.nullable
        columns = [pa.array([good.value.get(field.name) for _, good in self._scanned], field.type) for field in schema]
        if self.decoder.unknown_fields == "keep":
            columns[-1] = pa.array([good.kept for _, good in self._scanned], pa.string())
        rows = np.array([row for row, _ in self._scanned], np.int64)
        return rows, pa.RecordBatch.from_arrays(columns, schema=schema)


def _between(first: int, out: list[int], last: int) -> list[tuple[int, int]]:
    """The ranges that are left of `first` to `last` without these records."""
    return [(a + 1, b) for a, b in pairwise([first - 1, *out, last]) if a + 1 < b]


def _halves(first: int, last: int) -> list[tuple[int, int]]:
    middle = (first + last) // 2
    return [(first, middle), (middle, last)]
