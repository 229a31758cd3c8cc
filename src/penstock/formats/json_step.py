"""One step of the JSON decoder: a few thousand values through the guards, the parser and the scanner."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.formats.json_arrow import NONE, Indices, converted, suspects
from penstock.formats.json_lines import Lines, lines_from, lines_of, offsets_of, sound
from penstock.formats.json_readers import Good
from penstock.formats.json_scan import Problem
from penstock.formats.json_unknown import Doubtful
from penstock.rows import Verdict

if TYPE_CHECKING:
    from penstock.formats.json_columns import JsonDecoder

SPACES = b" \t\r\n"
MOST_PARSED = 1 << 30
"""Bytes of the largest record that is handed to the parser; beyond it the scanner reads it."""
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
        self.verdicts: list[Verdict] = []
        self.unknown: list[tuple[int, tuple[str, ...]]] = []
        self._parsed: list[tuple[Indices, pa.RecordBatch]] = []
        self._scanned: list[tuple[int, Good]] = []

    def run(self) -> pa.RecordBatch:
        """One row per value, in order; null where there is a verdict."""
        lines = self._all_admitted() or lines_from(self._admitted())
        ranges = [(0, len(lines))]
        done = 0
        while ranges:
            first, last = ranges.pop()
            # Where much is bad, taking the bad ones out one by one costs more than scanning every record.
            if self.decoder.parse is None or last - first < 2 or self.failures > 8 + done // 8:
                for index in range(first, last):
                    self._judge(lines, index)
                left = []
            else:
                left = self._attempt(lines, first, last)
            done += last - first - sum(b - a for a, b in left)
            ranges += reversed(left)
        return self._assembled()

    def _all_admitted(self) -> Lines | None:
        """Every value, if all of them may reach the parser: looked at by column."""
        if self.values.null_count:
            return None
        offsets = offsets_of(self.values)
        sizes = np.diff(offsets)
        if sizes.min() < 2 or sizes.max() > min(self.decoder.max_bytes, MOST_PARSED):
            return None
        data = np.frombuffer(self.values.buffers()[2], np.uint8)
        if (data[offsets[:-1]] != ord("{")).any() or (data[offsets[1:] - 1] != ord("}")).any():
            return None
        lines = lines_of(self.values)
        return lines if sound(lines.buffer) else None

    def _admitted(self) -> list[tuple[int, bytes]]:
        """The records that may reach the parser, looked at one by one; the others are judged here."""
        admitted = []
        for row, data in enumerate(self.values.to_pylist()):
            if data is None:
                drop = self.decoder.tombstones == "drop"
                self.verdicts.append(Verdict(row, "tombstone", None, "The record has no value.", drop=drop))
            elif len(data) > self.decoder.max_bytes:
                detail = f"The value has {len(data)} bytes, max_bytes is {self.decoder.max_bytes}."
                self.verdicts.append(Verdict(row, "too_large", None, detail))
            else:
                text = data.strip(SPACES)
                if text[:1] == b"{" and text[-1:] == b"}" and len(text) <= MOST_PARSED and sound(pa.py_buffer(text)):
                    admitted.append((row, text))
                else:
                    self._scan(row, data)
        return admitted

    def _scan(self, row: int, data: bytes) -> None:
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
        self._scan(row, self.values[row].as_py())

    def _attempt(self, lines: Lines, first: int, last: int) -> list[tuple[int, int]]:
        """Parse a range; the ranges that are left to do."""
        assert self.decoder.parse is not None
        try:
            batch = self.decoder.parse(lines.part(first, last), self.lenient)
        except pa.ArrowInvalid as error:
            message = str(error)
            if message.endswith("unexpected field") and self.decoder.unknown_fields != "reject":
                self.lenient = True
                return [(first, last)]
            bad = self._named(lines, first, last, message)
        else:
            if batch.num_rows == last - first:
                self._take(lines, first, batch)
                return []
            bad = []
        self.failures += 1
        for index in bad:
            self._judge(lines, index)
        edges = [first - 1, *bad, last]
        between = [(a + 1, b) for a, b in pairwise(edges) if a + 1 < b]
        middle = (first + last) // 2
        return between if bad else [(first, middle), (middle, last)]

    def _named(self, lines: Lines, first: int, last: int, message: str) -> list[int]:
        """The records that the parser's message points at; none if it points nowhere."""
        if match := ROW.search(message):
            index = first + int(match[1])
            return [index] if index < last else []
        if match := TEXT.search(message):
            text = next(group for group in match.groups() if group is not None)
            found = lines.holding(text.encode(), first, last, limit=4)
        else:
            found = list(range(first, last)) if message.endswith("unexpected field") else []
        return [index for index in found if isinstance(self.decoder.scanner.scan(lines.record(index)), Problem)]

    def _take(self, lines: Lines, first: int, batch: pa.RecordBatch) -> None:
        """Keep what was parsed, but for the records that need the scanner."""
        fields = self.decoder.fields
        out = np.unique(np.concatenate([suspects(batch.column(i), field) for i, field in enumerate(fields)]))
        kept, unsure = self._unknown_of(lines, first, batch.num_rows, set(out.tolist()))
        out = np.union1d(out, unsure)
        rows = lines.rows[first : first + batch.num_rows]
        if len(out):
            for index in out:
                self._judge(lines, first + int(index))
            stay = np.setdiff1d(np.arange(batch.num_rows), out)
            rows, batch, kept = rows[stay], batch.take(pa.array(stay)), kept.take(pa.array(stay))
        columns = [converted(batch.column(i), field.type) for i, field in enumerate(fields)]
        if self.decoder.unknown_fields == "keep":
            columns.append(kept)
        self._parsed.append((rows, pa.RecordBatch.from_arrays(columns, schema=self.decoder.nullable)))

    def _unknown_of(self, lines: Lines, first: int, count: int, out: set[int]) -> tuple[pa.Array, Indices]:
        """What the records hold beside the schema, and those that the scanner must look at for it."""
        if not self.lenient:
            return pa.nulls(count, pa.string()), NONE
        kept: list[str | None] = [None] * count
        unsure = []
        for index in range(count):
            if index in out:
                continue
            try:
                names, kept[index] = self.decoder.finder.find(lines.record(first + index))
            except Doubtful:
                unsure.append(index)
                continue
            if names:
                self.unknown.append((int(lines.rows[first + index]), names))
        return pa.array(kept, pa.string()), np.array(unsure, np.int64)

    def _assembled(self) -> pa.RecordBatch:
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
