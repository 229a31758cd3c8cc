"""Rows of hard values, in columns of every type that an expression may compare or count."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.rows import TIME

COLUMNS = pa.schema(
    [
        ("b1", pa.bool_()), ("b2", pa.bool_()), ("y1", pa.int8()), ("h1", pa.int16()), ("i1", pa.int32()),
        ("i2", pa.int32()), ("l1", pa.int64()), ("l2", pa.int64()), ("f1", pa.float32()), ("f2", pa.float32()),
        ("d1", pa.float64()), ("d2", pa.float64()), ("c1", pa.decimal128(18, 2)), ("c2", pa.decimal128(9, 4)),
        ("c3", pa.decimal128(38, 10)), ("s1", pa.string()), ("s2", pa.string()), ("n1", pa.string()),
        ("x1", pa.binary()), ("a1", pa.date32()), ("a2", pa.date32()), ("t1", TIME), ("t2", TIME),
        ("e1", pa.list_(pa.int32())),
        ("st", pa.struct([("x", pa.int32()), ("y", pa.string()), ("z", pa.struct([("w", pa.int64())]))])),
    ]
)  # fmt: skip
WHOLE = [0, 1, -1, 2, 3, 7, 10, -10, 100]
REAL = [
    0.0, -0.0, 1.0, -1.0, 1.5, 0.1, 1e300, -1e300, 1e-300, 3.0, 2.0**53, float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
TEXTS = [
    "", " ", "a", "A", "abc", "ABC", "abcabc", "a%c", "a_c", "a\\c", "  pad  ", "\tt\n", "é", "ß", "Straße", "日本語",
    "😀", "a😀b", "a\nb", "a\r\n", "a\n", "\n", "\r", "a\u2028", "x\u0085", "10", "-3", "EUR", "USD", "b", "\u0000",
    "\u00a0a\u00a0", "e\u0301", "ab\u000bc", "İ", "ΑΣ", "ΑΣΑ", "ﬁ", "\U00010400", "z" * 26, "a.c", "[x]", "$", "^a",
    "user@example.com", "2020-01-01", "ǆ", "ΰ", "ŉ", "\ua64a", "\u1c89", "ı", "K",
]  # fmt: skip
NUMERIC = [
    "0", "1", "-1", "+5", " 12 ", "\t7\n", "127", "128", "32768", "2147483647", "2147483648", "-2147483648", "007", "",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1.0", "1e3", "two", "٣", "- 1", "--1", "+",
    "1 2", "0" * 40 + "1", "12345678901234567890123", "0x10", "1_000", "\u00a01", "1\u0000", "\u007f9",
]  # fmt: skip
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = [
    EPOCH, EPOCH - timedelta(microseconds=1), EPOCH + timedelta(days=1), datetime(2020, 1, 1, tzinfo=UTC),
    datetime(2020, 2, 29, 23, 59, 59, 999999, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), datetime(1582, 10, 10, 3, 4, 5, 6, tzinfo=UTC),
    datetime(2021, 3, 28, 2, 30, tzinfo=UTC), datetime(1900, 3, 1, 12, tzinfo=UTC),
]  # fmt: skip
Make = Callable[[random.Random], Any]


def _whole(bits: int) -> Make:
    half = 1 << (bits - 1)
    pool = [*WHOLE, half - 1, -half, half - 2, half // 2, -(half // 2)]
    return lambda luck: max(-half, min(half - 1, luck.choice([*pool, luck.randint(-half, half - 1)])))


def _decimal(precision: int, scale: int) -> Make:
    most = 10**precision - 1
    pool = [0, 1, -1, 10**scale, -(10**scale), 15 * 10**scale // 10, most, -most, 2 * 10**scale, 5]
    return lambda luck: Decimal(f"{luck.choice([*pool, luck.randint(-most, most)])}E-{scale}")


def _date(luck: random.Random) -> date:
    return luck.choice(TIMES).date() if luck.random() < 0.6 else date.fromordinal(luck.randint(1, 3_000_000))


def _struct(luck: random.Random) -> dict[str, Any]:
    inner = None if luck.random() < 0.2 else {"w": _or_null(MAKE["l"], luck)}
    return {"x": _or_null(MAKE["i"], luck), "y": _or_null(MAKE["s"], luck), "z": inner}


def _or_null(make: Make, luck: random.Random) -> Any:
    return None if luck.random() < 0.15 else make(luck)


MAKE: dict[str, Make] = {
    "b": lambda luck: luck.random() < 0.5,
    "y": _whole(8), "h": _whole(16), "i": _whole(32), "l": _whole(64),
    "f": lambda luck: luck.choice([each for each in [*REAL, luck.uniform(-5, 5)] if abs(each) not in (1e300, 1e-300)]),
    "d": lambda luck: luck.choice([*REAL, luck.uniform(-5, 5)]),
    "c1": _decimal(18, 2), "c2": _decimal(9, 4), "c3": _decimal(38, 10),
    "s": lambda luck: luck.choice(TEXTS), "n": lambda luck: luck.choice(NUMERIC),
    "x": lambda luck: luck.choice([b"", b"a", b"\xff\x00", b"abc", b"\x80", "é".encode()]),
    "a": _date,
    "t": lambda luck: luck.choice([*TIMES, EPOCH + timedelta(microseconds=luck.randint(-(10**15), 10**16))]),
    "e": lambda luck: [luck.choice([None, 1, 2]) for _ in range(luck.randint(0, 3))],
    "st": _struct,
}  # fmt: skip
"""How a column's values are made: by its name, or by its first letter."""


def hard_rows(luck: random.Random, count: int) -> pa.RecordBatch:
    """So many rows; of each column about one value in seven is null."""
    arrays = []
    for column in COLUMNS:
        make = MAKE.get(column.name) or MAKE[column.name[0]]
        arrays.append(pa.array([_or_null(make, luck) for _ in range(count)], column.type))
    return pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)
