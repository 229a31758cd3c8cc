"""How rows come into a segment of Arrow stages: records from the source, or rows that a Spark stage hands over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.formats.contract import Decoded, DecoderByTopic, FormatOptions
from penstock.rows import RECORD, SOURCE, Rows
from penstock.worker.crossing import from_form
from penstock.worker.stretches import changed, in_stretches

LARGE = 8 * 1024
"""Bytes of key, value and headers above which a record is large: see steps/weighing.py."""


class Intake(Protocol):
    """Picklable; makes Rows of what Spark's iterator gives."""

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
        """Rows of one partition after another, every record whole."""
        ...


@dataclass(frozen=True)
class FromSource:
    """Records as the source gave them: they are decoded here.

    Where one was written with a schema that the plan does not know yet, the pass is void: from there on it only looks
    for more such records, one of each is told, and the driver begins it anew when it has looked them up.
    """

    decode: FormatOptions
    topic: str | None = None
    """Of every record; None where it stands in a column of its own."""
    weighed: bool = True
    """False: the bytes of large records stayed behind. The first of them makes the pass void."""

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
        decoder = self.decode.decoder()
        void = False
        for batch in batches:
            if large := self._large(batch):
                yield Rows(batch.slice(0, 0), pa.RecordBatch.from_pylist([], decoder.columns), large=large)
                void |= not self.weighed
            if (void and not self.weighed) or not batch.num_rows:
                continue
            source = in_stretches(self._with_topic(batch))
            if not isinstance(decoder, DecoderByTopic):
                yield _decoded(source, decoder.decode(source["value"]))
                continue
            for topic, piece in by_topic(source):
                one = decoder.of_topic(topic)
                strange = one.strange(piece["value"])
                void |= len(strange) > 0
                if len(strange):
                    told = piece.take(pa.array(strange))
                    yield _decoded(told, one.unread(told["value"]))
                if not void:
                    yield _decoded(piece, one.decode(piece["value"]))

    def _large(self, batch: pa.RecordBatch) -> int:
        """How many of these records are large."""
        if self.weighed:
            return int(pc.sum(pc.greater(pc.binary_length(batch["value"]), LARGE)).as_py() or 0)
        if not batch.num_rows or pc.min(batch["offset"]).as_py() >= 0:
            return 0
        return int(pc.sum(pc.less(batch["offset"], 0)).as_py())

    def _with_topic(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch if self.topic is None else batch.append_column("topic", pa.repeat(self.topic, batch.num_rows))


def _decoded(source: pa.RecordBatch, decoded: Decoded) -> Rows:
    """Records with what was made of them."""
    if decoded.schema_ids is not None:
        kept = [name for name in source.schema.names if name != "schema_id"]
        source = source.select(kept).append_column(SOURCE.field("schema_id"), decoded.schema_ids)
    return Rows(source, decoded.data, tuple(decoded.verdicts), unknown=decoded.unknown)


@dataclass(frozen=True)
class FromSpark:
    """Rows in the form of `crossing`: decoded, checked, stepped, routed."""

    columns: pa.Schema
    multiplied: bool
    """May there be several rows of one record?"""
    sinks: tuple[str, ...] = ()
    """The sinks whose own expressions were evaluated on the way."""

    def rows(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Rows]:
        for batch in whole_records(batches) if self.multiplied else batches:
            if batch.num_rows:
                ordered = in_stretches(batch, "_topic", "_partition")
                yield from_form(ordered, self.columns, self.sinks, multiplied=self.multiplied)


def by_topic(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """The batch in pieces of one topic each. They are slices: the rows of a topic stand in line."""
    starts = np.flatnonzero(changed(batch, ("topic",)))
    for start, end in pairwise([*starts.tolist(), batch.num_rows]):
        yield batch["topic"][start].as_py(), batch.slice(start, end - start)


def whole_records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows; a record whose rows Spark spread over two batches is held back until it is whole."""
    held: pa.RecordBatch | None = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        joined = batch if held is None else pa.concat_batches([held, batch])
        cut = int(np.flatnonzero(changed(joined, RECORD))[-1])  # the last record begins there
        held = joined.slice(cut)
        if cut:
            yield joined.slice(0, cut)
    if held is not None:
        yield held
