"""The JSON decoder: whole columns by Arrow's reader, behind guards; single records by the scanner.

Arrow's reader is quick, refuses a whole step for one bad record, and is lenient or even unsafe in a few places
(a bare `null` at the start crashes it). So only records that are `{...}`, UTF-8 and free of NUL reach it; when it
refuses, the record it names is taken out and judged by the scanner, and what it is known to let through is looked at
afterwards. The scanner always has the last word, so both tiers give the same verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from penstock.formats.arrow_nulls import needs_filling
from penstock.formats.arrow_types import to_arrow
from penstock.formats.contract import Decoded
from penstock.formats.json.arrow import UNSURE, decimals, has, read_type
from penstock.formats.json.lines import offsets_of
from penstock.formats.json.readers import Scanner
from penstock.formats.json.sieve import Sieve
from penstock.formats.json.step import FEW, Step
from penstock.formats.json.unknown import UnknownFields
from penstock.formats.types import Field
from penstock.rows import Verdict

STEP_ROWS = 16_384
STEP_BYTES = 4 << 20
BLOCK_BYTES = 1 << 18
SMALL_BLOCK_BYTES = 1 << 16
"""A bad record costs the work on its block: where there are any, blocks are small."""
MUCH = 0.005
"""Bad records per record from which on a step is sieved first."""
MAX_NAMES = 100
MOST_DIGITS = 38
"""Of a DECIMAL, as Arrow's reader holds it."""

Parse = Callable[[pa.Buffer, int, bool], Iterable[pa.RecordBatch]]
"""Buffer, bytes of a block, whether to ignore unknown fields -> a batch for each block."""


class JsonDecoder:
    """Decodes batches of values. It learns from one batch to the next how long its steps should be, and whether
    the stream has unknown fields; neither changes a result."""

    def __init__(
        self, fields: tuple[Field, ...], *, unknown_fields: str = "ignore", tombstones: str = "reject", max_bytes: int
    ) -> None:
        self.fields, self.unknown_fields = fields, unknown_fields
        self.tombstones, self.max_bytes = tombstones, max_bytes
        self.columns = to_arrow(fields)
        if unknown_fields == "keep":
            self.columns = self.columns.append(pa.field("_unknown", pa.string()))
        self.nullable = pa.schema([pa.field(field.name, field.type) for field in self.columns])
        self.scanner = Scanner(fields, unknown_fields)
        self.finder = UnknownFields(fields, unknown_fields == "keep")
        self.parse = parser(fields)
        self.to_check = [i for i, field in enumerate(fields) if not field.nullable or has(field.type, *UNSURE)]
        self.to_fill = any(needs_filling(field.type) for field in fields)
        self.whole_digits = min((MOST_DIGITS - one.scale for one in decimals(fields)), default=None)
        self.sieve = Sieve(fields, unknown_fields)
        self.fail_rate = 0.0
        self.sieving = False
        self.unknown_share = 0.0

    def decode(self, values: pa.Array) -> Decoded:
        """Decode every value; `data` has a row for each, null where there is a verdict."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        verdicts: list[Verdict] = []
        unknown: dict[str, int] = {}
        parts = [pa.RecordBatch.from_arrays([pa.nulls(0, one.type) for one in self.nullable], schema=self.nullable)]
        first = 0
        for last in self._steps(values):
            step = Step(self, values.slice(first, last - first))
            parts.append(step.run())
            verdicts += [verdict._replace(row=verdict.row + first) for verdict in sorted(step.verdicts)]
            _count(unknown, step.unknown)
            self._learn(step)
            first = last
        return Decoded(pa.concat_batches(parts) if len(parts) != 2 else parts[1], verdicts, unknown)

    def _steps(self, values: pa.Array) -> Iterator[int]:
        """Where each step ends: bounded by rows and by bytes, at least one row."""
        offsets = offsets_of(values)
        first, count = 0, len(values)
        while first < count:
            full = int(np.searchsorted(offsets, offsets[first] + STEP_BYTES, "right")) - 1
            first = max(first + 1, min(first + STEP_ROWS, full, count))
            yield first

    @property
    def block_bytes(self) -> int:
        """How many bytes the parser takes at once."""
        return BLOCK_BYTES if self.fail_rate < 1e-5 else SMALL_BLOCK_BYTES

    @property
    def lenient(self) -> bool:
        """Whether to expect unknown fields. Finding them costs more than the parse that fails on them, so a stream
        with few of them is first tried without."""
        return self.unknown_share > FEW and self.unknown_fields != "reject"

    def _learn(self, step: Step) -> None:
        weight = min(0.5, step.size / 4096)
        self.fail_rate += weight * (step.failures / step.size - self.fail_rate)
        self.sieving = max(self.fail_rate, step.held / step.size) > MUCH
        self.unknown_share += weight * (len(step.unknown) / step.size - self.unknown_share)


def _count(counts: dict[str, int], found: list[tuple[int, tuple[str, ...]]]) -> None:
    for _, names in sorted(found):
        for name in names:
            if name in counts or len(counts) < MAX_NAMES:
                counts[name] = counts.get(name, 0) + 1


def parser(fields: tuple[Field, ...]) -> Parse | None:
    """Arrow's reader for these fields: a buffer of lines -> batches, block by block. Raises `pa.ArrowInvalid`.

    None if it cannot read them: it knows no MAP.
    """
    if any(has(field.type, "MAP") for field in fields):
        return None
    schema = pa.schema([pa.field(field.name, read_type(field.type)) for field in fields])
    strict, lenient = (
        pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior=word) for word in ("error", "ignore")
    )

    def parse(buffer: pa.Buffer, block_bytes: int, ignore_unknown: bool) -> Iterable[pa.RecordBatch]:
        read = pj.ReadOptions(use_threads=False, block_size=block_bytes)
        batches: Iterable[pa.RecordBatch] = pj.open_json(
            pa.BufferReader(buffer), read, lenient if ignore_unknown else strict
        )
        return batches

    return parse
