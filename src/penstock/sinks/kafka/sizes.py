"""How large a row will be as a record in its topic: never more than said here, whatever the client adds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.sinks.kafka.names import OFFSET, PARTITION, PIPELINE, SINK, TOPIC

RECORD = 61 + 36
"""Bytes of a record batch's own fields, and of one record's: its length, times, and the lengths of its parts."""
HEADER = 10
"""Bytes that a header takes beside its name and its value."""
NUMBER = 20
"""Most digits of an offset or a partition."""

Sizes = np.ndarray[tuple[int], np.dtype[np.int64]]


def sizes(key: pa.Array, value: pa.Array, headers: pa.Array) -> Sizes:
    """Bytes of each record, at most."""
    return RECORD + _lengths(key) + _lengths(value) + _of_lists(headers)


def lineage_bytes(topics: pa.Array, pipeline: str, sink: str | None = None) -> Sizes:
    """Bytes of the headers that say where a row came from, and which sink it is of."""
    names = sum(len(name) + HEADER for name in (TOPIC, PARTITION, OFFSET, PIPELINE))
    named = 0 if sink is None else len(SINK) + HEADER + len(sink.encode())
    return names + named + _lengths(topics) + 2 * NUMBER + len(pipeline.encode())


def _lengths(array: pa.Array) -> Sizes:
    filled = pc.fill_null(pc.binary_length(array), 0)
    lengths: Sizes = filled.to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths


def _of_lists(headers: pa.Array) -> Sizes:
    """Bytes of the headers of each record."""
    if headers.null_count == len(headers):
        return np.zeros(len(headers), np.int64)
    names, values = headers.flatten().flatten()
    ends = np.concatenate([[0], np.cumsum(HEADER + _lengths(names) + _lengths(values))])
    counts = pc.fill_null(pc.list_value_length(headers), 0).to_numpy(zero_copy_only=False)
    places = np.concatenate([[0], np.cumsum(counts)])
    found: Sizes = ends[places[1:]] - ends[places[:-1]]
    return found
