"""Counting offsets in bounded memory, and what is found whatever is planted."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.operate.audit import audit
from penstock.operate.audit.books import Batch
from penstock.operate.audit.counts import Field, Stretch, Territory, stretches, windows
from penstock.operate.audit.deep import Deep
from penstock.ranges import Range
from penstock.testing.handmade import HandMade


def batch(batch_id: int, *ranges: Range) -> Batch:
    return Batch(1, batch_id, "", ranges)


def test_ranges_that_overlap_are_judged_together_and_others_alone() -> None:
    one, two, three = batch(0, Range("t", 0, 0, 5)), batch(1, Range("t", 0, 5, 9)), batch(2, Range("t", 0, 8, 12))
    found = [(each.start, each.end, [b.batch_id for b in each.batches]) for each in stretches([three, one, two])]
    assert found == [(0, 5, [0]), (5, 12, [1, 2])]


def test_windows_hold_at_most_so_many_offsets() -> None:
    found = [Stretch(("t", 0), start, start + 4, ()) for start in range(0, 20, 4)]
    assert [[each.start for each in window] for window in windows(found, 8)] == [[0, 4], [8, 12], [16]]
    assert [len(window) for window in windows(found, 1)] == [1] * 5, "one that is too large is counted all the same"


@given(st.lists(st.integers(-5, 25), max_size=40))
def test_every_offset_is_counted_as_often_as_it_came(offsets: list[int]) -> None:
    window = [Stretch(("t", 0), 0, 6, ()), Stretch(("t", 0), 6, 10, ()), Stretch(("t", 0), 15, 20, ())]
    counted = Field.over(window)
    counted.add(("t", 0), np.array(offsets, dtype=np.int64))
    counted.add(("t", 1), np.array(offsets, dtype=np.int64))
    for stretch in window:
        assert counted.of(stretch).tolist() == [offsets.count(at) for at in range(stretch.start, stretch.end)]
    territory = Territory([batch(0, Range("t", 0, 0, 10)), batch(1, Range("t", 0, 15, 20))])
    outside = [at for at in offsets if not (0 <= at < 10 or 15 <= at < 20)]
    assert territory.outside(("t", 0), np.array(offsets, dtype=np.int64)).tolist() == outside
    assert territory.outside(("u", 0), np.array(offsets, dtype=np.int64)).tolist() == offsets


def test_an_audit_in_many_windows_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = HandMade(tmp_path)
    for _ in range(4):
        case.write({0: "wwr3", 1: "nw"})
    [first, *_] = sorted(Path(uri) for uri in DeltaTable(case.table()).file_uris())
    pq.write_table(pq.read_table(first).slice(1), first)
    whole = audit(case.pipeline, deep=True)
    monkeypatch.setattr(Deep, "window", 5)
    again = audit(case.pipeline, deep=True)
    assert (whole.verdict, whole.lost) == ("lost", 1)
    assert again.to_json() == whole.to_json()


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.text("wwwwrd.n", min_size=1, max_size=8), min_size=1, max_size=5),
    st.integers(0, 2**32),
    st.booleans(),
)
@example(["wwwww"], 1, False)  # a doubled row stands where a lost one stood
def test_as_many_rows_are_found_lost_and_doubled_as_were_planted(texts: list[str], seed: int, moved: bool) -> None:
    chance = random.Random(seed)
    with TemporaryDirectory() as folder:
        case = HandMade(Path(folder))
        for records in texts:
            case.write(records)
        if moved:
            DeltaTable(case.table()).optimize.compact()
        lost = doubled = 0
        for path in map(Path, DeltaTable(case.table()).file_uris()):
            rows = pq.read_table(path)
            fates = [chance.choice([0, 1, 1, 1, 2]) for _ in range(rows.num_rows)]
            lost, doubled = lost + fates.count(0), doubled + fates.count(2)
            numbers = [row for row, times in enumerate(fates) for _ in range(times)]
            pq.write_table(rows.take(pa.array(numbers, pa.int64())), path)
        found = audit(case.pipeline, deep=True)
    assert (found.lost, found.doubled) == (lost, doubled)
    assert found.verdict == ("lost" if lost else "doubled" if doubled else "exact")


def test_a_running_pipeline_can_be_audited_at_any_moment(tmp_path: Path) -> None:
    case = HandMade(tmp_path)
    case.write("ww")
    failed: list[BaseException] = []

    def run() -> None:
        try:
            for _ in range(25):
                case.write({0: "wwr", 1: "wd"})
        except BaseException as error:
            failed.append(error)

    writer = threading.Thread(target=run)
    writer.start()
    looks = 0
    while writer.is_alive() or looks < 2:
        found = audit(case.pipeline, deep=bool(looks % 2))
        assert found.findings == (), [finding.what for finding in found.findings]
        looks += 1
    writer.join()
    assert failed == []
    assert audit(case.pipeline, deep=True).read == 2 + 25 * 5
