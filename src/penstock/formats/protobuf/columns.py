"""The Protobuf decoder: whole columns at once, in one of two ways.

Messages in their usual form, nearly all, are read straight from their bytes (usual.py). All others, and those of
schemas that are not read so, go through Google's runtime and ptars.

Google's runtime decides what a message is: the messages of a step are put behind one another, as one message that
repeats them, and it reads them at one stroke, without a Python object for each. What it writes back is the plainest
form of the same values: every field once, oneofs decided, maps without doubles, nothing unknown. Only that reaches the
quick decoder, whose columns are then those of Google's runtime, whatever came in.
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
from penstock.formats.protobuf.joined import Joined
from penstock.formats.protobuf.messages import Messages, batch_class
from penstock.formats.protobuf.readers import Flaw, columns_of, read_struct
from penstock.formats.protobuf.shadow import MESSAGE, Shadow, add
from penstock.formats.protobuf.types import is_map
from penstock.formats.protobuf.unsound import missing, reason, unknown_of
from penstock.formats.protobuf.usual import Usual, nulled, payloads
from penstock.formats.protobuf.wire import wire_of
from penstock.formats.types import Field
from penstock.rows import Numbers, Verdict

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
        rest = Step(self, payloads(data, starts[places], ends[places]), look=True)
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
        step = Step(self, values)
        made = step.run()
        return Decoded(made, [each._replace(row=first + each.row) for each in sorted(step.verdicts)], step.unknown)

    def _together(self, steps: list[Decoded]) -> Decoded:
        if len(steps) == 1:
            return steps[0]
        empty = pa.RecordBatch.from_arrays([pa.nulls(0, one.type) for one in self.nullable], schema=self.nullable)
        unknown: dict[str, int] = {}
        for step in steps:
            for name, count in step.unknown.items():
                if name in unknown or len(unknown) < MAX_NAMES:
                    unknown[name] = unknown.get(name, 0) + count
        verdicts = [verdict for step in steps for verdict in step.verdicts]
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


class Step:
    """A few thousand payloads and what became of each."""

    def __init__(self, decoder: ProtobufDecoder, values: pa.Array, *, look: bool = False) -> None:
        self.decoder, self.values, self.look = decoder, values, look
        """`look`: for what the schema does not name, in any case. Payloads that are odd are few, and may hold it."""
        self.verdicts: list[Verdict] = []
        self.unknown: dict[str, int] = {}
        self._parts: list[tuple[Numbers, pa.RecordBatch]] = []

    def run(self) -> pa.RecordBatch:
        """One row per payload, in order; null where there is a verdict."""
        rows, bodies = self._bodies()
        if len(rows):
            self._read(rows, Joined(bodies))
        return self._in_order()

    def _bodies(self) -> tuple[Numbers, pa.Array]:
        """The messages without their indexes, and which payloads they are."""
        rows = np.arange(len(self.values))
        values = self.values
        if values.null_count:
            for row in np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False)):
                self._out(int(row), None, "The record has no payload.")
            rows, values = rows[values.is_valid().to_numpy(zero_copy_only=False)], values.drop_null()
        if self.decoder.indexes is None:
            return rows, values
        bodies, wrong = self.decoder.indexes.stripped(values)
        for place, why in wrong.items():
            self._out(int(rows[place]), None, why)
        return np.delete(rows, list(wrong)), bodies

    def _read(self, rows: Numbers, joined: Joined) -> None:
        """Decode these messages. What cannot be is judged, and the rest decoded without it."""
        batch, refused = joined.parsed(self.decoder.many)
        for place in refused:
            self._out(int(rows[place]), *self._judged(joined.body(place)))
        rows = np.delete(rows, refused)
        if not len(rows):
            return
        if self.decoder.has_required and not batch.IsInitialized():
            self._without(rows, joined.without(refused), self._incomplete(rows, batch))
            return
        if not (self.look or self.decoder.looks()) and self._keep(rows, batch.SerializePartialToString(deterministic=True)):
            return
        joined = joined.without(refused)
        batch.DiscardUnknownFields()
        data = batch.SerializePartialToString(deterministic=True)
        if len(data) != len(joined.data) and self._lessened(joined, data):
            self.decoder.saw_unknown = True
            if self.decoder.rejecting:
                self._without(rows, joined, self._with_unknown(rows, joined))
                return
            self._count_unknown(joined)
        if not self._keep(rows, data):
            raise AssertionError("ptars refuses what Google's runtime wrote")

    def _lessened(self, joined: Joined, data: bytes) -> bool:
        """Was there anything unknown in these messages?"""
        return bool(self.decoder.many.FromString(joined.data).ByteSize() != len(data))

    def _judged(self, body: bytes) -> tuple[str | None, str]:
        """What is wrong with a message that was refused; it may be sound alone, but too deep as part of another."""
        from google.protobuf.message import DecodeError

        try:
            self.decoder.one.FromString(body)
        except DecodeError:
            return reason(self.decoder.message, body)
        return None, "Unknown groups are nested too deep in it."

    def _without(self, rows: Numbers, joined: Joined, bad: list[int]) -> None:
        """Decode the others."""
        if len(bad) < len(rows):
            self._read(np.delete(rows, bad), joined.without(bad))

    def _incomplete(self, rows: Numbers, batch: Any) -> list[int]:
        found = [place for place, one in enumerate(batch.rows) if not one.IsInitialized()]
        for place in found:
            pointer = missing(batch.rows[place])
            self._out(int(rows[place]), pointer, "A required field is missing.")
        return found

    def _with_unknown(self, rows: Numbers, joined: Joined) -> list[int]:
        found = []
        for place, one in enumerate(self.decoder.many.FromString(joined.data).rows):
            if pointer := next(unknown_of(one), None):
                why = f"Schema {self.decoder.writer.id} does not name the field of this number, or its value."
                self.verdicts.append(Verdict(int(rows[place]), "unknown_field", pointer, why))
                found.append(place)
        return found

    def _count_unknown(self, joined: Joined) -> None:
        for one in self.decoder.many.FromString(joined.data).rows:
            for pointer in set(unknown_of(one)):
                self.unknown[pointer[1:]] = self.unknown.get(pointer[1:], 0) + 1

    def _keep(self, rows: Numbers, data: bytes) -> bool:
        """Take the columns of these messages. False where the quick decoder cannot read them: it knows no groups, and
        unknown ones are allowed."""
        try:
            arrays, flaws = self.decoder.columns_from(data, len(rows))
        except ValueError:
            return False
        batch = pa.RecordBatch.from_arrays(arrays, schema=self.decoder.nullable)
        if flaws:
            first = {flaw.row: flaw for flaw in reversed(flaws)}
            for place, flaw in first.items():
                self._out(int(rows[place]), flaw.path, flaw.detail)
            keep = np.delete(np.arange(len(rows)), list(first))
            rows, batch = rows[keep], batch.take(pa.array(keep))
        self._parts.append((rows, batch))
        return True

    def _in_order(self) -> pa.RecordBatch:
        schema = self.decoder.nullable
        if not self._parts:
            return pa.RecordBatch.from_arrays([pa.nulls(len(self.values), one.type) for one in schema], schema=schema)
        batch = pa.concat_batches([part for _, part in self._parts]) if len(self._parts) > 1 else self._parts[0][1]
        rows = np.concatenate([rows for rows, _ in self._parts])
        if len(rows) == len(self.values):
            return batch if (rows[1:] > rows[:-1]).all() else batch.take(pa.array(np.argsort(rows)))
        places = np.full(len(self.values), -1, np.int64)
        places[rows] = np.arange(len(rows))
        return batch.take(pa.array(places, mask=places < 0))

    def _out(self, row: int, field: str | None, why: str) -> None:
        self.verdicts.append(Verdict(row, "bad_payload", field, why))


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
