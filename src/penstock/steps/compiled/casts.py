"""Casts that lose nothing, and those that raise where they would. Values of a type that Spark rounds are Spark's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.rows import TIME
from penstock.steps.compiled.ops import Kernel, NotCompiled, Op, call, like, numbers
from penstock.steps.compiled.tree import Node
from penstock.steps.compiled.types import arrow_type, bounds, is_real, is_whole

DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
"""Digits of the largest whole number of so many bits."""
LONGEST_PLAIN_SCALE = 6
"""Decimals with more digits behind the point may be written with an exponent."""
DAY = 86_400_000_000
TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))
"""What Spark cuts off both ends of a text that is to be a number."""
UTC = {"UTC", "Etc/UTC", "Z"}
MOST_DAYS = 106_751_990
"""So many days from 1970 on have a time in microseconds."""
USUAL_DAYS = (-719_162, 2_932_896)
"""The first day of year 1 and the last of year 9999."""


def _cast(node: Node, given: Sequence[Op]) -> Op:
    [value] = given
    source, target = value.type, arrow_type(node.fields["dataType"])
    if target is None:
        raise NotCompiled(f"a cast of {source}")
    if source == target:
        return value
    if (_timed(source) or _timed(target)) and node.fields.get("timeZoneId") not in UTC:
        raise NotCompiled("a cast in another time zone than UTC")
    kernel, raises = _kernel(source, target)
    return call(target, kernel, given, raises=raises)


def _kernel(source: pa.DataType, target: pa.DataType) -> tuple[Kernel, bool]:
    """What casts, and whether it may raise."""
    if is_whole(source) and is_whole(target):
        wider = source.bit_width <= target.bit_width
        return (partial(as_is, target), False) if wider else (partial(narrowed, target), True)
    if is_whole(source) and pa.types.is_decimal128(target):
        if target.precision - target.scale >= DIGITS[source.bit_width]:
            return partial(as_is, target), False
    elif _exactly(source, target):
        return partial(as_is, target), False
    elif pa.types.is_string(source) and is_whole(target):
        return partial(parsed, target), True
    elif (source, target) in OF_TIMES:
        return OF_TIMES[source, target]
    raise NotCompiled(f"a cast of {source} to {target}")


def _exactly(source: pa.DataType, target: pa.DataType) -> bool:
    """Casts in which Arrow gives what Spark gives, for every value."""
    if pa.types.is_boolean(source):
        return is_whole(target) or target == pa.string()
    if is_whole(source):
        return is_real(target) or target == pa.string()
    if pa.types.is_decimal128(source) and pa.types.is_decimal128(target):
        room = target.precision - target.scale >= source.precision - source.scale
        return bool(room and target.scale >= source.scale)
    if pa.types.is_decimal128(source):
        return bool(target == pa.string() and source.scale <= LONGEST_PLAIN_SCALE)
    return (source, target) in ((pa.float32(), pa.float64()), (pa.string(), pa.binary()))


def as_is(target: pa.DataType, values: Any) -> Any:
    """A large BIGINT has no DOUBLE of its own: it becomes the nearest, as in Spark."""
    return values.cast(target, safe=False) if is_real(target) else values.cast(target)


def unchecked(values: pa.Array) -> pa.Array:
    """Bytes called a text, as Spark does it: they need not be one."""
    return pc.cast(values, options=pc.CastOptions(pa.string(), allow_invalid_utf8=True))


def narrowed(target: pa.DataType, values: Any) -> Any:
    smallest, largest = bounds(target)
    found = numbers(values)
    wrong = (found < smallest) | (found > largest)
    return like(np.where(wrong, 0, found), target, values), wrong if wrong.any() else None


def parsed(target: pa.DataType, values: Any) -> Any:
    """A text as a whole number: a sign, digits, blanks around them. All else raises."""
    cut = pc.ascii_trim(values, TRIMMED)
    good = pc.match_substring_regex(cut, r"\A[+-]?[0-9]{1,18}\z")
    if pc.all(good).as_py() is not False:
        return _within(target, _plain(cut), values)
    return _one_by_one(target, cut)


def _plain(texts: pa.Array) -> pa.Array:
    return pc.cast(pc.ascii_ltrim(texts, "+"), pa.int64())


def _within(target: pa.DataType, found: pa.Array, values: Any) -> Any:
    return found if target == pa.int64() else narrowed(target, found)


def _one_by_one(target: pa.DataType, texts: pa.Array) -> Any:
    """The same, where some texts are no numbers, or long."""
    smallest, largest = bounds(target)
    made, wrong = [], np.zeros(len(texts), dtype=np.bool_)
    for row, text in enumerate(texts.to_pylist()):
        number = None if text is None else _number(text)
        fits = number is not None and smallest <= number <= largest
        wrong[row] = text is not None and not fits
        made.append(number if fits else None)
    return pa.array(made, target), wrong


def _number(text: str) -> int | None:
    """The number, if it is one that could fit; Python reads no more than some thousand digits."""
    sign, digits = (text[:1], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if not (digits.isascii() and digits.isdigit()) or len(digits.lstrip("0")) > DIGITS[64]:
        return None
    return int(sign + (digits.lstrip("0") or "0"))


def days(values: Any) -> Any:
    """The day in UTC. Times before 1970 are rounded down, as all others."""
    micros = numbers(values.cast(pa.int64()))
    return like((micros // DAY).astype(np.int32), pa.int32(), values).cast(pa.date32())


def midnight(dates: Any) -> Any:
    """The first moment of a day, in UTC. Days of far away years have none that can be written."""
    found = numbers(dates.cast(pa.int32())).astype(np.int64)
    wrong = np.abs(found) > MOST_DAYS
    return like(np.where(wrong, 0, found) * DAY, pa.int64(), dates).cast(TIME), wrong if wrong.any() else None


def date_text(dates: Any) -> Any:
    first, last = USUAL_DAYS
    found = numbers(dates.cast(pa.int32()))
    if ((found >= first) & (found <= last)).all():
        return dates.cast(pa.string())
    return _unusual(found.astype("datetime64[D]"), dates)


def time_text(times: Any) -> Any:
    """Without the zeros at the end of a fraction, and without a fraction of nothing."""
    found = numbers(times.cast(pa.int64()))
    first, last = USUAL_DAYS
    if ((found >= first * DAY) & (found < (last + 1) * DAY)).all():
        whole = times.cast(pa.timestamp("us")).cast(pa.string())
        return pc.replace_substring_regex(whole, r"\.?0*$", "")
    return _unusual(found.astype("datetime64[us]"), times)


def _unusual(found: Any, values: Any) -> Any:
    """Years of other than four digits have a sign."""
    made = [_signed(str(each)) for each in np.atleast_1d(found)]
    return like(np.array(made, dtype=object), pa.string(), values)


def _signed(text: str) -> str:
    at = text.index("-", 1)
    year, day = int(text[:at]), text[at:].replace("T", " ")
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}{re.sub(r'[.]?0*$', '', day) if '.' in day else day}"


OF_TIMES: dict[tuple[pa.DataType, pa.DataType], tuple[Kernel, bool]] = {
    (TIME, pa.date32()): (days, False),
    (pa.date32(), TIME): (midnight, True),
    (pa.date32(), pa.string()): (date_text, False),
    (TIME, pa.string()): (time_text, False),
}


def _timed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind))


RULES = {"Cast": _cast}
