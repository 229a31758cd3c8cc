"""What must not reach Arrow's JSON reader, because it would crash or read beyond its tables.

- A NUL ends its input; it checks no encoding. A bare `null` as the first document crashes it (kept out because only
  `{...}` is let in).
- A DECIMAL with more than 38 places after the point (`1e-1000000000`, as a number or as text) makes it read beyond
  its table of powers of ten: a wrong answer, or a crash of the worker and of every retry.
- A DECIMAL with so many digits before the point that it does not fit 128 bits at the type's scale (`-31` for
  DECIMAL(38,38), `1e30` for DECIMAL(38,10)) it takes for another number, without a word.
"""

from __future__ import annotations

import re
from codecs import utf_8_decode

import numpy as np
import pyarrow as pa

from penstock.formats.json.lines import Lines

Codes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Places = np.ndarray[tuple[int], np.dtype[np.int64]]
MOST_PLACES = 38
WINDOW = 64
HIDDEN = re.compile(rb"\\u00(?:2[bBdDeE]|3[0-9]|45|65)")
"""An escape that spells a part of a number."""
BEFORE = re.compile(rb"(?:^|[^0-9.+\-])[+-]?[0-9]*(?:\.([0-9]*))?$")
EDGE = np.zeros(256, np.bool_)
EDGE[list(b'0123456789./+-":,[]{} \t\r\n')] = True
"""What can stand beside the digits of a number, or of a text that is one."""
POWER = re.compile(rb"[eE]\+?([0-9]+)(?![0-9A-Za-z._\-])")
AFTER = re.compile(rb"-([0-9]+)(?![0-9A-Za-z._\-])")


def sound(data: pa.Buffer) -> bool:
    """UTF-8 without NUL."""
    if data.size and np.frombuffer(data, np.uint8).min() == 0:
        return False
    text = pa.StringArray.from_buffers(1, pa.py_buffer(np.array([0, data.size], np.int32)), data)
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def unsound(lines: Lines) -> list[int]:
    """Which records are not sound."""
    places = np.flatnonzero(np.frombuffer(lines.buffer, np.uint8) == 0).tolist()
    data, at = memoryview(lines.buffer), 0
    while at < len(data):
        try:
            utf_8_decode(data[at:], "strict", True)
            break
        except UnicodeDecodeError as error:
            places.append(at + error.start)
            at = int(lines.starts[np.searchsorted(lines.starts, places[-1], "right")])
    return _records_at(lines, places)


def _records_at(lines: Lines, places: list[int]) -> list[int]:
    found: list[int] = np.unique(np.searchsorted(lines.starts, places, "right") - 1).tolist() if places else []
    return found


def with_tiny_numbers(lines: Lines) -> list[int]:
    """The records that hold a number, or a text like one, with too many places after the point for a DECIMAL."""
    data = memoryview(lines.buffer)
    codes = np.frombuffer(lines.buffer, np.uint8)
    ends = [at for at in _negative_exponents(codes) if _is_tiny(data, at)]
    if (codes == ord("\\")).any():
        ends += [match.start() for match in HIDDEN.finditer(data)]
    return _records_at(lines, ends)


def _negative_exponents(codes: Codes) -> list[int]:
    """Where the `-` of `3e-1` stands. UUIDs have such places too; few of them look like a number's."""
    minus = np.flatnonzero(codes[:-1] == ord("-"))  # the last byte is a newline
    minus = minus[(codes[minus - 1] | 32) == ord("e")]
    before, after = codes[minus - 2], codes[minus + 1]
    digit = (after >= ord("0")) & (after <= ord("9"))
    found: list[int] = minus[digit & (((before >= ord("0")) & (before <= ord("9"))) | (before == ord(".")))].tolist()
    return found


def _is_tiny(data: memoryview, minus: int) -> bool:
    """Whether the number with this exponent has more than 38 places after the point, or may have."""
    exponent = AFTER.match(data, minus)
    if not exponent:
        return False
    start = max(0, minus - 1 - WINDOW)
    mantissa = BEFORE.search(data[start : minus - 1])
    if not mantissa:
        return False
    places = len(mantissa[1] or b"")
    digits = exponent[1].lstrip(b"0")
    return len(digits) > 2 or places + int(digits or b"0") > MOST_PLACES or mantissa.end() - mantissa.start() >= WINDOW


def with_huge_numbers(lines: Lines, most: int) -> list[int]:
    """The records that hold a number, or a text like one, with more than `most` digits before the point, or may."""
    codes = np.frombuffer(lines.buffer, np.uint8)
    number = (codes - np.uint8(ord("."))) < 12  # a digit, a point or a slash: few passes matter more than slashes
    places = np.flatnonzero(_runs(number, most + 1)).tolist()
    data = memoryview(lines.buffer)
    places += [at for at in _powers(codes, number) if _is_huge(data, at, most)]
    return _records_at(lines, places)


def _runs(inside: Mask, length: int) -> Mask:
    """Where such a run of so many bytes begins."""
    found, known = inside, 1
    while known < length and found.any():
        step = min(known, length - known)
        found = found[:-step] & found[step:]
        known += step
    return found


def _powers(codes: Codes, number: Mask) -> list[int]:
    """Where the `e` of `3e10` or `3.e+10` stands, and of what looks like it. Hexadecimal text seldom does: it
    has other letters beside these digits."""
    found = np.flatnonzero(((codes[1:-2] | 32) == ord("e")) & number[:-3]) + 1
    behind = found + 1 + (codes[found + 1] == ord("+"))
    found, behind = found[number[behind]], behind[number[behind]]
    found = found[EDGE[codes[_beyond(number, behind, 1)]]]
    found = found[EDGE[codes[_beyond(number, found - 1, -1)]]]
    places: list[int] = found.tolist()
    return places


def _beyond(inside: Mask, places: Places, step: int) -> Places:
    """Where the run that each place is in ends; what is longer than `WINDOW` is left inside."""
    for _ in range(WINDOW):
        going = inside[places]
        if not going.any():
            break
        places = places + step * going
    return places


def _is_huge(data: memoryview, e: int, most: int) -> bool:
    """Whether the number with this exponent has more than so many digits before the point, or may have."""
    exponent = POWER.match(data, e)
    if not exponent:
        return False
    start = max(0, e - WINDOW)
    mantissa = BEFORE.search(data[start:e])
    if not mantissa:
        return False
    digits = exponent[1].lstrip(b"0")
    whole = mantissa.end() - mantissa.start() - len(mantissa[1] or b"")
    return len(digits) > 2 or whole + int(digits or b"0") > most or mantissa.end() - mantissa.start() >= WINDOW
