"""Which rows are of which partition. A batch holds them one partition after another, each in one stretch.

Tasks read like that, and whatever comes in another order is put into it when it comes in. So a batch of many
partitions is decoded and written at one stroke, and its records are still counted for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.rows import Mask, Numbers

Part: TypeAlias = tuple[str, int]
"""A topic and one of its partitions."""


class Stretches:
    """The partitions of a batch in their order, and where the rows of each begin and end."""

    def __init__(self, batch: pa.RecordBatch, topic: str = "topic", partition: str = "partition") -> None:
        starts = np.flatnonzero(changed(batch, (topic, partition)))
        places = pa.array(starts)
        self.parts: list[Part] = list(
            zip(batch[topic].take(places).to_pylist(), batch[partition].take(places).to_pylist(), strict=True)
        )
        self.edges: Numbers = np.append(starts, batch.num_rows).astype(np.int64)
        """The first row of each stretch; and behind the last one, the number of rows."""

    def __iter__(self) -> Iterator[tuple[Part, int, int]]:
        """Each partition with its first row and the row behind its last one."""
        return zip(self.parts, self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True)

    @property
    def whole(self) -> bool:
        """Is every partition in one stretch?"""
        return len(set(self.parts)) == len(self.parts)

    def holding(self, rows: Sequence[int]) -> list[int]:
        """For each of these rows the number of its stretch."""
        numbers: list[int] = (np.searchsorted(self.edges, rows, side="right") - 1).tolist()
        return numbers

    def shares(self, rows: Numbers) -> list[int]:
        """How many of these rows, which ascend, are in each stretch."""
        counts: list[int] = np.diff(np.searchsorted(rows, self.edges)).tolist()
        return counts

    def spans(self, offsets: Numbers) -> Iterator[tuple[int, int]]:
        """The least and the greatest offset in each stretch."""
        starts = self.edges[:-1]
        least, most = np.minimum.reduceat(offsets, starts), np.maximum.reduceat(offsets, starts)
        return zip(least.tolist(), most.tolist(), strict=True)


def in_stretches(batch: pa.RecordBatch, topic: str = "topic", partition: str = "partition") -> pa.RecordBatch:
    """The same rows, each partition in one stretch; rows of one partition keep their order."""
    if Stretches(batch, topic, partition).whole:
        return batch
    keys = pa.table({"topic": batch[topic], "partition": batch[partition], "row": pa.array(np.arange(batch.num_rows))})
    return batch.take(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]))


def changed(batch: pa.RecordBatch, columns: Sequence[str]) -> Mask:
    """The rows at which one of these columns is not as in the row before; the first is one."""
    mask = np.zeros(batch.num_rows, dtype=np.bool_)
    mask[:1] = True
    for name in columns:
        column = batch[name]
        mask[1:] |= pc.fill_null(pc.not_equal(column[1:], column[:-1]), True).to_numpy(zero_copy_only=False)
    return mask
