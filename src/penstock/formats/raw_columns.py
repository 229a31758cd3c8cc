"""The raw decoder: every value is good as it is, but for tombstones and what is too large."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.contract import Decoded
from penstock.rows import Verdict


class RawDecoder:
    """One column `value`: the bytes as they came."""

    columns = pa.schema([pa.field("value", pa.binary())])

    def __init__(self, tombstones: str, max_bytes: int) -> None:
        self.drop, self.max_bytes = tombstones == "drop", max_bytes

    def decode(self, values: pa.Array) -> Decoded:
        """The values, null where there is a verdict. An empty value is a value."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        sizes = pc.binary_length(values)
        too_large = pc.fill_null(pc.greater(sizes, self.max_bytes), False)
        out = np.flatnonzero(pc.or_(too_large, values.is_null()).to_numpy(zero_copy_only=False))
        verdicts = [self._verdict(int(row), sizes[int(row)].as_py()) for row in out]
        kept = pc.if_else(too_large, None, values) if len(out) else values
        data = pa.RecordBatch.from_arrays([kept.cast(pa.binary())], schema=self.columns)
        return Decoded(data, verdicts, {})

    def _verdict(self, row: int, size: int | None) -> Verdict:
        if size is None:
            return Verdict(row, "tombstone", None, "The record has no value.", drop=self.drop)
        return Verdict(row, "too_large", None, f"The value has {size} bytes, max_bytes is {self.max_bytes}.")
