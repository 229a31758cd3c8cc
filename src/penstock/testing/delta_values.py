"""Rows with a value of every type, the awkward ones too, and the partition values that people really have."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.rows import LINEAGE

EVERY_TYPE = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("text", pa.string()),
        pa.field("i32", pa.int32()),
        pa.field("i16", pa.int16()),
        pa.field("i8", pa.int8()),
        pa.field("f32", pa.float32()),
        pa.field("f64", pa.float64()),
        pa.field("flag", pa.bool_()),
        pa.field("raw", pa.binary()),
        pa.field("day", pa.date32()),
        pa.field("moment", pa.timestamp("us", "UTC")),
        pa.field("small", pa.decimal128(9, 2)),
        pa.field("money", pa.decimal128(18, 2)),
        pa.field("huge", pa.decimal128(38, 10)),
        pa.field("device", pa.struct([pa.field("os", pa.string()), pa.field("at", pa.struct([("x", pa.float64())]))])),
        pa.field("items", pa.list_(pa.struct([pa.field("sku", pa.string()), pa.field("qty", pa.int32())]))),
        pa.field("labels", pa.map_(pa.string(), pa.int64())),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "text": "zażółć 😀 \n'\"",
        "i32": -(2**31),
        "i16": -(2**15),
        "i8": -128,
        "f32": 1.5,
        "f64": -0.0,
        "flag": True,
        "raw": b"\x00\xff",
        "day": date(1969, 12, 31),
        "moment": datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        "small": Decimal("-1234567.89"),
        "money": Decimal("9999999999999999.99"),
        "huge": Decimal("1234567890123456789012345678.0123456789"),
        "device": {"os": "ios", "at": {"x": 1.25}},
        "items": [{"sku": "a", "qty": 1}, {"sku": None, "qty": None}],
        "labels": {"a": 1, "b": None},
    },
    {"id": 2},
    {
        "id": 3,
        "text": "",
        "i32": 2**31 - 1,
        "i16": 2**15 - 1,
        "i8": 127,
        "f32": -2.25,
        "f64": 1e300,
        "flag": False,
        "raw": b"",
        "day": date(2400, 2, 29),
        "moment": datetime(2400, 2, 29, 12, 0, 0, 1, tzinfo=UTC),
        "small": Decimal("0.00"),
        "money": Decimal("-9999999999999999.99"),
        "huge": Decimal("-0.0000000001"),
        "device": {"os": None, "at": None},
        "items": [],
        "labels": {},
    },
]

PARTITION_VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["plain", "a/b=c%20 d", "line\nbreak", "quo'te\"s", "żółć", "😀", " ", "null", None]),
    "i64": (pa.int64(), [0, -(2**63), 2**63 - 1, None]),
    "i8": (pa.int8(), [-128, 0, 127]),
    "flag": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(2026, 2, 28), None]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [
            datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
            datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
            datetime(1900, 1, 1, tzinfo=UTC),
            None,
        ],
    ),
    "money": (pa.decimal128(18, 2), [Decimal("1.50"), Decimal("-0.01"), Decimal("9999999999999999.99"), None]),
    "f64": (pa.float64(), [1.5, -2.0, 1e300, 1e-7, None]),
}


def batch(columns: pa.Schema, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """These rows with lineage beside them: offset 0 and on."""
    arrays = [pa.array([row.get(field.name) for row in rows], field.type) for field in columns]
    count = len(rows)
    lineage = [
        pa.array(["orders"] * count),
        pa.array([0] * count, pa.int32()),
        pa.array(range(count), pa.int64()),
        pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * count, LINEAGE.field("_timestamp").type),
    ]
    return pa.RecordBatch.from_arrays([*arrays, *lineage], schema=pa.schema([*columns, *LINEAGE]))
