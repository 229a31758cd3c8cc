"""Parts of dates and times, in UTC and in the calendar that ISO 8601 has for all years."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.rows import TIME
from penstock.steps.compiled.casts import DAY, UTC, days
from penstock.steps.compiled.ops import NotCompiled, Op, call, like, literal, numbers
from penstock.steps.compiled.tree import Node

UNITS = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": DAY, "dd": DAY,
}  # fmt: skip
"""date_trunc to what is always as long -> how long it is."""
MONTHS = {"month": 1, "mon": 1, "mm": 1, "quarter": 3, "year": 12, "yyyy": 12, "yy": 12}
PARTS = {"Hour": (3_600_000_000, 24), "Minute": (60_000_000, 60), "Second": (1_000_000, 60)}


def year(dates: Any) -> Any:
    return like(_months(dates) // 12 + 1970, pa.int32(), dates)


def month(dates: Any) -> Any:
    return like(_months(dates) % 12 + 1, pa.int32(), dates)


def quarter(dates: Any) -> Any:
    return like(_months(dates) % 12 // 3 + 1, pa.int32(), dates)


def day(dates: Any) -> Any:
    first = _months(dates).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return like(_days(dates) - first + 1, pa.int32(), dates)


def _days(dates: Any) -> Any:
    return numbers(dates.cast(pa.int32())).astype(np.int64)


def _months(dates: Any) -> Any:
    """Months since 1970 began."""
    return _days(dates).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)


def part(length: int, count: int, times: Any) -> Any:
    return like(numbers(times.cast(pa.int64())) // length % count, pa.int32(), times)


def cut(length: int, times: Any) -> Any:
    micros = numbers(times.cast(pa.int64()))
    return like(micros - micros % length, pa.int64(), times).cast(TIME)


def cut_to_months(count: int, times: Any) -> Any:
    months = _months(days(times))
    first = (months - months % count).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return like(first * DAY, pa.int64(), times).cast(TIME)


OF_DATES = {"Year": year, "Month": month, "Quarter": quarter, "DayOfMonth": day}


def _of_date(node: Node, given: Sequence[Op]) -> Op:
    _must_be(given[0], pa.date32())
    return call(pa.int32(), OF_DATES[node.kind], given)


def _part(node: Node, given: Sequence[Op]) -> Op:
    _in_utc(node)
    _must_be(given[0], TIME)
    return call(pa.int32(), partial(part, *PARTS[node.kind]), given)


def _truncated(node: Node, given: Sequence[Op]) -> Op:
    _in_utc(node)
    _must_be(given[1], TIME)
    unit = str(literal(given[0], "the unit")).lower()
    if unit in UNITS:
        return call(TIME, partial(cut, UNITS[unit]), given[1:])
    if unit in MONTHS:
        return call(TIME, partial(cut_to_months, MONTHS[unit]), given[1:])
    raise NotCompiled(f"date_trunc to {unit}")


def _to_date(node: Node, given: Sequence[Op]) -> Op:
    """to_date(x) without a format is a cast."""
    if len(given) != 1 or given[0].type not in (pa.date32(), TIME):
        raise NotCompiled("to_date of a text")
    _in_utc(node)
    return given[0] if given[0].type == pa.date32() else call(pa.date32(), days, given)


def _moved(node: Node, given: Sequence[Op]) -> Op:
    """date_add and date_sub; like Spark's, they do not ask whether the day can be reached."""
    _must_be(given[0], pa.date32())
    _must_be(given[1], pa.int32())
    return call(pa.date32(), partial(moved, 1 if node.kind == "DateAdd" else -1), given)


def moved(sign: int, dates: Any, count: Any) -> Any:
    move = pc.add if sign > 0 else pc.subtract
    return move(dates.cast(pa.int32()), count).cast(pa.date32())


def _between(node: Node, given: Sequence[Op]) -> Op:
    for each in given:
        _must_be(each, pa.date32())
    return call(pa.int32(), days_between, given)


def days_between(end: Any, start: Any) -> Any:
    return pc.subtract(end.cast(pa.int32()), start.cast(pa.int32()))


def _in_utc(node: Node) -> None:
    if node.fields.get("timeZoneId") not in UTC:
        raise NotCompiled("a time in another zone than UTC")


def _must_be(op: Op, kind: pa.DataType) -> None:
    if op.type != kind:
        raise NotCompiled(f"a part of {op.type}")


RULES = {
    **dict.fromkeys(OF_DATES, _of_date), **dict.fromkeys(PARTS, _part), "TruncTimestamp": _truncated,
    "ParseToDate": _to_date, "DateAdd": _moved, "DateSub": _moved, "DateDiff": _between,
}  # fmt: skip
