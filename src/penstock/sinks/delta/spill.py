"""Rows that wait on disk: those of partition values for which no file is open."""

from __future__ import annotations

import mmap
import tempfile
from collections.abc import Iterator

import pyarrow as pa

from penstock.sinks.delta.partition import Key


class Spill:
    """An unnamed temporary file of Arrow batches: whatever ends the task, the disk takes it back.

    Reading maps it into memory and copies nothing, so its rows cost address space only.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._file = tempfile.TemporaryFile(prefix="penstock-spill-")  # noqa: SIM115 (lives until `close`)
        self._sink = pa.PythonFile(self._file, mode="w")
        self._writer = pa.ipc.new_file(self._sink, schema)
        self._batches = 0
        self._pieces: dict[Key, list[tuple[int, int, int]]] = {}

    def add(self, rows: pa.RecordBatch, runs: list[tuple[Key, int]]) -> None:
        """Keep these rows; `runs` says which key the first so many have, which the next, and so on."""
        self._writer.write_batch(rows)
        start = 0
        for key, length in runs:
            self._pieces.setdefault(key, []).append((self._batches, start, length))
            start += length
        self._batches += 1

    def by_key(self) -> Iterator[tuple[Key, list[pa.RecordBatch]]]:
        """Each key with its rows, sorted by key."""
        self._writer.close()
        self._sink.flush()
        self._file.flush()
        mapped = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        reader = pa.ipc.open_file(pa.BufferReader(pa.py_buffer(mapped)))
        for key in sorted(self._pieces, key=lambda key: tuple((text is not None, text or "") for text in key)):
            yield key, [reader.get_batch(number).slice(start, length) for number, start, length in self._pieces[key]]

    def close(self) -> None:
        self._file.close()
