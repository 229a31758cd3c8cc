"""Which values of a step may reach Arrow's JSON reader; the others are judged on the spot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from penstock.formats.json.guards import sound, unsound, with_huge_numbers, with_tiny_numbers
from penstock.formats.json.lines import Lines, lines_from, lines_of, offsets_of
from penstock.rows import Verdict

if TYPE_CHECKING:
    from penstock.formats.json.step import Step

SPACES = b" \t\r\n"
MOST_PARSED = 1 << 30
"""Bytes of the largest record that is handed to the parser; beyond it the scanner reads it."""


def admitted(step: Step) -> Lines:
    """The records that may reach the parser."""
    lines = _objects(step)
    if not sound(lines.buffer):
        lines = step.without(lines, unsound(lines))
    if step.decoder.whole_digits is None:
        return lines
    lines = step.without(lines, with_tiny_numbers(lines))
    return step.without(lines, with_huge_numbers(lines, step.decoder.whole_digits))


def _objects(step: Step) -> Lines:
    """The values that are `{...}`, but for spaces around it."""
    fits = _shaped(step.values, min(step.decoder.max_bytes, MOST_PARSED))
    stripped: dict[int, bytes] = {}
    for row in np.flatnonzero(~fits).tolist():
        if text := _guard(step, row, step.values[row].as_py()):
            stripped[row] = text
    if not stripped:
        values = step.values if fits.all() else step.values.filter(pa.array(fits))
        return lines_of(values, np.flatnonzero(fits))
    return lines_from(
        [
            (row, stripped.get(row) or data)
            for row, data in enumerate(step.values.to_pylist())
            if fits[row] or row in stripped
        ]
    )


def _shaped(values: pa.Array, most: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which values begin with `{`, end with `}` and are not too large."""
    if values.buffers()[2] is None:
        return np.zeros(len(values), np.bool_)
    offsets = offsets_of(values)
    sizes = np.diff(offsets)
    fits = (sizes > 1) & (sizes <= most)
    if values.null_count:
        fits &= values.is_valid().to_numpy(zero_copy_only=False)
    data = np.frombuffer(values.buffers()[2], np.uint8)
    where = np.flatnonzero(fits)
    fits[where] = (data[offsets[where]] == ord("{")) & (data[offsets[where + 1] - 1] == ord("}"))
    return fits


def _guard(step: Step, row: int, data: bytes | None) -> bytes | None:
    """The text of a value that is `{...}` with spaces around it; any other is judged, and None."""
    if data is None:
        drop = step.decoder.tombstones == "drop"
        step.verdicts.append(Verdict(row, "tombstone", None, "The record has no value.", drop=drop))
        return None
    if len(data) > step.decoder.max_bytes:
        detail = f"The value has {len(data)} bytes, max_bytes is {step.decoder.max_bytes}."
        step.verdicts.append(Verdict(row, "too_large", None, detail))
        return None
    text = data.strip(SPACES)
    if text[:1] == b"{" and text[-1:] == b"}" and len(text) <= MOST_PARSED:
        return text
    step.scan(row, data)
    return None
