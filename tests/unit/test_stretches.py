"""Rows of many partitions in one batch: each partition in one stretch, and its records counted for itself."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.rows import SOURCE, Mask, Rows, Verdict
from penstock.tally import Fates, Tally
from penstock.worker.books import Books
from penstock.worker.stretches import Stretches, in_stretches

PARTS = st.tuples(st.sampled_from("ab"), st.integers(0, 3))


def source_of(places: list[tuple[str, int]], offsets: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [
            {"topic": topic, "partition": part, "offset": offset}
            for (topic, part), offset in zip(places, offsets, strict=True)
        ],
        SOURCE,
    )


@given(st.lists(PARTS, max_size=40))
def test_each_partition_comes_to_stand_in_one_stretch_and_keeps_its_order(places: list[tuple[str, int]]) -> None:
    made = in_stretches(source_of(places, list(range(len(places)))))
    stretches = Stretches(made)
    assert stretches.whole
    assert set(stretches.parts) == set(places)
    for part, start, end in stretches:
        assert made["offset"][start:end].to_pylist() == [n for n, place in enumerate(places) if place == part]


@given(st.lists(PARTS, max_size=40))
def test_rows_that_stand_in_stretches_are_not_moved(places: list[tuple[str, int]]) -> None:
    source = source_of(sorted(places, reverse=True), list(range(len(places))))
    assert in_stretches(source) is source


class Record(NamedTuple):
    """What becomes of one record: out before any sink, or as each of its rows fares in the sink."""

    part: tuple[str, int]
    out: str | None
    rows: list[str]


FATE = st.sampled_from(["written", "left", "refused"])
RECORD = st.builds(
    Record, PARTS, st.none() | st.sampled_from(["reject", "drop", "stop"]), st.lists(FATE, min_size=1, max_size=3)
)


@given(st.lists(RECORD, min_size=1, max_size=25), st.booleans())
def test_records_are_counted_for_their_own_partition(records: list[Record], single: bool) -> None:
    """Against a count by hand: what the sink writes of a record, it writes whole."""
    records = sorted((_sensible(each, single) for each in records), key=lambda each: each.part)
    tally = Tally()
    rows, written, refused = _at_the_desk(records)
    books = Books(rows, tally)
    books.open()
    books.enter("lake", written, refused)
    assert tally.partitions == _by_hand(records)


def _sensible(record: Record, single: bool) -> Record:
    if record.out:
        return record._replace(rows=["out"])
    if "refused" in record.rows:  # one takes the others along
        return record._replace(rows=["refused"] * (1 if single else len(record.rows)))
    return record._replace(rows=record.rows[:1]) if single else record


def _at_the_desk(records: list[Record]) -> tuple[Rows, Mask, list[Verdict]]:
    numbers = [number for number, record in enumerate(records) for _ in record.rows]
    flat = [fate for record in records for fate in record.rows]
    first = {number: row for row, number in reversed(list(enumerate(numbers)))}
    outs = tuple(
        Verdict(first[number], f"code {record.out}", drop=record.out == "drop", stop=record.out == "stop")
        for number, record in enumerate(records)
        if record.out
    )
    source = source_of([records[number].part for number in numbers], [1000 - number for number in numbers])
    multiplied = len(numbers) > len(records)
    rows = Rows(
        source,
        pa.RecordBatch.from_pydict({"id": numbers}),
        outs,
        np.array(numbers, dtype=np.int64) if multiplied else None,
    )
    written = np.array([fate == "written" for fate in flat], dtype=np.bool_)
    refused = [Verdict(first[n], "too_large") for n, record in enumerate(records) if record.rows[0] == "refused"]
    return rows, written, refused


def _by_hand(records: list[Record]) -> dict[tuple[str, int], Fates]:
    told: dict[tuple[str, int], Fates] = {}
    for number, record in enumerate(records):
        fates = told.setdefault(
            record.part, Fates(written=Counter(lake=0), rows=Counter(lake=0), not_routed=Counter(lake=0))
        )
        fates.seen += 1
        fates.cover(1000 - number, 1000 - number)
        if record.out:
            {"reject": fates.rejected, "drop": fates.dropped, "stop": fates.stopped}[record.out][
                f"code {record.out}"
            ] += 1
        elif record.rows[0] == "refused":
            fates.refused.setdefault("lake", Counter())["too_large"] += 1
        elif "written" in record.rows:
            fates.written["lake"] += 1
            fates.rows["lake"] += record.rows.count("written")
        else:
            fates.not_routed["lake"] += 1
    return told
