"""The Protobuf decoder: whole columns at once, in one of two ways.

Messages in their usual form, nearly all, are read straight from their bytes (usual.py). All others, and those of
schemas that are not read so, go through Google's runtime and ptars (step.py), which decide what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.arrow_nulls import filled, needs_filling
from penstock.formats.arrow_types import to_arrow
from penstock.formats.contract import Decoded
from penstock.formats.framed_columns import buffers_of
from penstock.formats.protobuf.indexes import Indexes
from penstock.formats.protobuf.messages import Messages, batch_class
from penstock.formats.protobuf.readers import Flaw, columns_of, read_struct
from penstock.formats.protobuf.shadow import MESSAGE, Shadow, add
from penstock.formats.protobuf.step import Step
from penstock.formats.protobuf.types import is_map
from penstock.formats.protobuf.usual import Usual, nulled, payloads
from penstock.formats.protobuf.wire import wire_of
from penstock.formats.types import Field
from penstock.rows import Numbers

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

STEP_ROWS = 16_384
STEP_BYTES = 4 << 20
MAX_NAMES = 100
LOOK_EVERY = 16
"""Looking for what a schema does not name costs as much as reading: one step in so many is looked through, and every
one from the first on in which there is any. Where such fields are to be rejected, all are."""


class ProtobufDecoder:
    """Decodes payloads of one writer's schema into the columns of a reader's."""

    def __init__(
        self,
        writer: Messages,
        message: Descriptor,
        fields: tuple[Field, ...],
        readers: Descriptor,
        *,
        framed: bool = True,
        unknown_fields: str = "ignore",
    ) -> None:
        from google.protobuf.message_factory import GetMessageClass

        self.writer, self.message, self.fields = writer, message, fields
        self.rejecting = unknown_fields == "reject"
        self.columns = to_arrow(fields)
        self.nullable = pa.schema([pa.field(field.name, field.type) for field in self.columns])
        self.indexes = Indexes(writer, message) if framed else None
        self.one, self.many = GetMessageClass(message), batch_class(message, writer.pool)
        self.has_required = found_in(message, lambda field: bool(field.is_required))
        self._must_look = found_in(message, may_turn_unknown)
        self._steps, self.saw_unknown = 0, False
        self._to_fill = [needs_filling(field.type) for field in fields]
        shadow = Shadow()
        row, batch = shadow.message(), shadow.message()
        self._read = columns_of(shadow, row, fields, message, readers)
        add(batch, 1, MESSAGE, of=str(row.name), repeated=True, presence=False)
        self._handler = shadow.handler(str(batch.name)) if row.field else None
        wire = wire_of(message, shadow, row) if row.field and (not framed or self.head) else None
        self.usual = Usual(wire, self.head) if wire else None

    @property
    def head(self) -> bytes:
        """What payloads of this message begin with; nothing where it cannot be told, or they are not framed."""
        return self.indexes.head if self.indexes else b""

    def looks(self) -> bool:
        """Is this step to be looked through for what the schema does not name? It must be where a value that the schema
        does name can turn out unknown: only then is it left out."""
        self._steps += 1
        return self.rejecting or self._must_look or self.saw_unknown or self._steps % LOOK_EVERY == 1

    def decode(self, values: pa.Array) -> Decoded:
        """Decode every payload; `data` has a row for each, null where there is a verdict."""
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if values.null_count:
            return self._together([self._by_google(part, first) for first, part in _slices(values)])
        return self.decode_spans(*buffers_of(values))

    def decode_spans(self, data: Any, starts: Numbers, ends: Numbers) -> Decoded:
        """The payloads at these places of `data`, which come one behind the other."""
        pieces = (slice(first, last) for first, last in _steps(ends - starts))
        return self._together([self._step(data, starts[one], ends[one], one.start) for one in pieces])

    def _step(self, data: Any, starts: Numbers, ends: Numbers, first: int) -> Decoded:
        if self.usual is None or not self.usual.pays(len(starts)):
            return self._by_google(payloads(data, starts, ends), first)
        rows, odd = self.usual.read(data, starts, ends)
        arrays, flaws = self._columns(rows)
        odd[[flaw.row for flaw in flaws]] = True
        made = pa.RecordBatch.from_arrays(arrays, schema=self.nullable)
        if not odd.any():
            return Decoded(made, [], {})
        places = np.flatnonzero(odd)
        few = [data[starts[place] : ends[place]].tobytes() for place in places]
        rest = Step(self, pa.array(few, pa.binary()), look=True)
        more = rest.run()
        verdicts = [each._replace(row=first + int(places[each.row])) for each in sorted(rest.verdicts)]
        if len(verdicts) == len(places):
            made = pa.RecordBatch.from_arrays([nulled(array, odd) for array in arrays], schema=self.nullable)
        else:
            at = np.arange(len(starts))
            at[places] = len(starts) + np.arange(len(places))
            made = pa.concat_batches([made, more]).take(pa.array(at))
        return Decoded(made, verdicts, rest.unknown)

    def _by_google(self, values: pa.Array, first: int) -> Decoded:
        step = Step(self, values, look=self.usual is not None)
        made = step.run()
        return Decoded(made, [each._replace(row=first + each.row) for each in sorted(step.verdicts)], step.unknown)

    def _together(self, steps: list[Decoded]) -> Decoded:
        unknown: dict[str, int] = {}
        for step in steps:
            for name, count in step.unknown.items():
                if name in unknown or len(unknown) < MAX_NAMES:
                    unknown[name] = unknown.get(name, 0) + count
        verdicts = [verdict for step in steps for verdict in step.verdicts]
        if len(steps) == 1:
            return Decoded(steps[0].data, verdicts, unknown)
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, one.type) for one in self.nullable], schema=self.nullable)
        return Decoded(pa.concat_batches([empty, *(step.data for step in steps)]), verdicts, unknown)

    def columns_from(self, data: bytes, count: int) -> tuple[list[pa.Array], list[Flaw]]:
        """The columns of messages that Google's runtime wrote, as one that repeats them."""
        if self._handler is None:
            return read_struct(self._read, pa.nulls(count))
        rows = self._handler.array_to_record_batch(pa.array([data], pa.binary())).column(0).values
        assert len(rows) == count
        return self._columns(rows)

    def _columns(self, rows: pa.StructArray) -> tuple[list[pa.Array], list[Flaw]]:
        arrays, flaws = read_struct(self._read, rows)
        pairs = zip(arrays, self.fields, self._to_fill, strict=True)
        return [filled(array, field) if to_fill else array for array, field, to_fill in pairs], flaws


def _steps(sizes: Numbers) -> Iterator[tuple[int, int]]:
    """First and last payload of each step, bounded by rows and by bytes."""
    ends = np.cumsum(sizes, dtype=np.int64)
    first = 0
    while first < len(sizes):
        before = int(ends[first - 1]) if first else 0
        last = int(np.searchsorted(ends, before + STEP_BYTES, "right"))
        last = max(first + 1, min(first + STEP_ROWS, last, len(sizes)))
        yield first, last
        first = last


def _slices(values: pa.Array) -> Iterator[tuple[int, pa.Array]]:
    """The payloads of each step."""
    sizes = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    yield from ((first, values.slice(first, last - first)) for first, last in _steps(sizes))


def may_turn_unknown(field: FieldDescriptor) -> bool:
    """Does Google's runtime set values of this field aside, as if they were unknown? A number that a closed enum does
    not name, and an entry of a map that holds anything but its key and its value."""
    return is_map(field) or (field.enum_type is not None and bool(field.enum_type.is_closed))


def found_in(message: Descriptor, test: Callable[[FieldDescriptor], bool], seen: frozenset[str] = frozenset()) -> bool:
    """Is any field of the message, at any depth, such a one?"""
    if message.full_name in seen:
        return False
    inner = seen | {message.full_name}
    return any(
        test(field) or (field.message_type is not None and found_in(field.message_type, test, inner))
        for field in message.fields
    )
