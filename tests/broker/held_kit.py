"""A Python step that holds its batch until a file is there."""

from __future__ import annotations

HELD = """
import time
from pathlib import Path

import pyarrow as pa


def held(rows: pa.RecordBatch) -> pa.RecordBatch:
    deadline = time.monotonic() + 100
    while rows.num_rows and not Path({go!r}).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return rows
"""
