"""Frozen rows as messages, in the order in which the source has them, whatever tasks and files they were cut into."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.rows import RECORD
from penstock.sinks.contract import Frozen, FrozenFile
from penstock.sinks.kafka.frozen import Place
from penstock.sinks.kafka.names import OFFSET, PARTITION, PIPELINE, SINK, TOPIC

ROWS = 16_384
"""Rows that are in memory at once as Python objects."""

Headers = list[tuple[str, str | bytes | None]]
Message = tuple[str, bytes | None, bytes | None, Headers]
"""Topic, value, key, headers: as the producer takes them."""
_Placed = tuple[Place, Message]


class _Piece(NamedTuple):
    """A file, and between which places of the source its rows lie."""

    first: Place
    last: Place
    file: FrozenFile


def messages(frozen: Frozen) -> Iterator[Message]:
    """Every row of a sink's share, in order. Two files at once are read only where their ranges overlap."""
    stage, sender = Path(frozen.target["stage"]), _sender(frozen)
    for pieces in _apart(frozen.files):
        if len(pieces) == 1:
            for rows in _batches(stage, pieces[0].file):
                yield from _of(rows, sender)
        else:
            each = [_placed(stage, piece.file, sender) for piece in pieces]
            yield from map(itemgetter(1), heapq.merge(*each, key=itemgetter(0)))


def limits(shares: Iterable[Frozen]) -> dict[str, int]:
    """Topics that these rows go to -> most bytes of a record, as it was when they were frozen."""
    found: dict[str, int] = {}
    for share in shares:
        for file in share.files:
            found |= json.loads(file.stats)["limits"]
    return found


def damaged(frozen: Mapping[str, Frozen]) -> list[str]:
    """What is wrong with the files of these shares: gone, or not of the size they had."""
    found = []
    for sink, share in frozen.items():
        for file in share.files:
            path = Path(share.target["stage"], file.path)
            size = path.stat().st_size if path.is_file() else None
            if size != file.size:
                what = "is gone" if size is None else f"has {size} bytes instead of {file.size}"
                found.append(f"{path.name} of sink {sink} {what}")
    return found


def _apart(files: Iterable[FrozenFile]) -> Iterator[list[_Piece]]:
    """The files in order, those together whose ranges overlap."""
    together: list[_Piece] = []
    for piece in sorted(_piece(file) for file in files):
        if together and piece.first > max(each.last for each in together):
            yield together
            together = []
        together.append(piece)
    if together:
        yield together


def _piece(file: FrozenFile) -> _Piece:
    stats = json.loads(file.stats)
    return _Piece(Place(*stats["first"]), Place(*stats["last"]), file)


def _batches(stage: Path, file: FrozenFile) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(str(stage / file.path)) as reader:
        yield from reader.iter_batches(batch_size=ROWS)


def _sender(frozen: Frozen) -> Headers:
    """Headers that say who sends; none, where records are not to say where they came from."""
    told = ((PIPELINE, frozen.target.get("pipeline")), (SINK, frozen.target.get("named")))
    return [(name, value.encode()) for name, value in told if value]


def _placed(stage: Path, file: FrozenFile, sender: Headers) -> Iterator[_Placed]:
    for rows in _batches(stage, file):
        places = map(Place, *(rows[name].to_pylist() for name in RECORD))
        yield from zip(places, _of(rows, sender), strict=True)


def _of(rows: pa.RecordBatch, sender: Headers) -> Iterator[Message]:
    """These rows as messages; with a sender, each says in its headers where it came from."""
    topics, values, keys = (rows[name].to_pylist() for name in ("topic", "value", "key"))
    headers = _own(rows["headers"])
    if sender:
        headers = _with_origin(rows, sender, headers)
    return zip(topics, values, keys, headers, strict=False)  # the headers may be endless


def _own(headers: pa.Array) -> Iterable[Headers]:
    """The headers that stand in the file."""
    if headers.null_count == len(headers):
        return repeat([])
    return [[(one["key"], one["value"]) for one in row or ()] for row in headers.to_pylist()]


def _with_origin(rows: pa.RecordBatch, sender: Headers, own: Iterable[Headers]) -> Iterator[Headers]:
    """Lineage headers, then the row's own. They are most of what a message costs: little is made anew for each."""
    topics, partitions = _shared(TOPIC, rows["_topic"]), _shared(PARTITION, rows["_partition"])
    offsets = rows["_offset"].cast(pa.string()).cast(pa.binary()).to_pylist()
    for topic, partition, offset, more in zip(topics, partitions, offsets, own, strict=False):
        yield [topic, partition, (OFFSET, offset), *sender, *more]


def _shared(name: str, values: pa.Array) -> Iterable[tuple[str, bytes]]:
    """A header for each row, made once for each value; nearly always all rows have the same."""
    made = {value: (name, str(value).encode()) for value in pc.unique(values).to_pylist()}
    return repeat(*made.values()) if len(made) == 1 else [made[value] for value in values.to_pylist()]
