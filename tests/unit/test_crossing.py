"""Rows on their way to Spark and back: nothing is lost sight of, and a record has one fate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.rows import SOURCE, Rows, Verdict
from penstock.worker.crossing import FORM, OUT, from_form, numbers_of, settled, to_form
from penstock.worker.intake import whole_records

DATA = pa.schema([pa.field("id", pa.int64(), nullable=False)])


def rows(count: int, verdicts: tuple[Verdict, ...] = ()) -> Rows:
    source = [
        {"key": b"k", "value": b"v%d" % n, "topic": "t", "partition": 1, "offset": n, "timestamp": n, "headers": "[]"}
        for n in range(count)
    ]
    data = pa.RecordBatch.from_pydict({"id": list(range(count))}, DATA)
    return Rows(pa.RecordBatch.from_pylist(source, SOURCE), data, verdicts, unknown={"colour": 2})


def test_rows_come_back_as_they_went() -> None:
    verdicts = (
        Verdict(1, "wrong_type", "/id", "Not a number."),
        Verdict(2, "old", None, None, "check", drop=True),
        Verdict(3, "never", None, "Not true: x", "check", stop=True),
    )
    went = rows(5, verdicts)
    came = from_form(to_form(went), DATA, (), multiplied=False)
    assert came.source.equals(went.source)
    assert came.data["id"].equals(went.data["id"])
    assert came.verdicts == verdicts
    assert came.unknown == {"colour": 2}
    assert came.records is None


def test_without_verdicts_there_is_nothing_to_carry() -> None:
    form = to_form(rows(3))
    assert form["__out"].null_count == 3
    assert from_form(form, DATA, (), multiplied=True).verdicts == ()


def test_nothing_that_is_carried_is_a_list() -> None:
    """Spark walks over lists that are null for every row that it weighs: three quarters of such a pass, once."""
    assert [field.name for field in FORM if pa.types.is_nested(field.type)] == ["__out"]
    assert [field.name for field in OUT if pa.types.is_nested(field.type)] == []


def test_the_names_of_the_checks_that_warned_are_counted_one_by_one() -> None:
    form = to_form(rows(4))
    at = form.schema.get_field_index("__warned")
    form = form.set_column(at, form.schema.field(at), pa.array(["old", None, "old,odd", None], pa.string()))
    assert from_form(form, DATA, (), multiplied=False).warned == {"old": 2, "odd": 1}


def places(*given: tuple[str, int, int]) -> pa.RecordBatch:
    topics, partitions, offsets = zip(*given, strict=True)
    return pa.RecordBatch.from_pydict({"_topic": topics, "_partition": partitions, "_offset": offsets})


def test_records_are_numbered_by_their_runs() -> None:
    assert numbers_of(places(("t", 0, 7), ("t", 0, 8), ("t", 0, 9))) is None
    numbers = numbers_of(places(("t", 0, 7), ("t", 0, 7), ("t", 0, 8), ("t", 0, 9), ("t", 0, 9)))
    assert numbers is not None
    assert numbers.tolist() == [0, 0, 1, 2, 2]


def test_records_of_two_partitions_may_have_the_same_offset() -> None:
    assert numbers_of(places(("t", 0, 7), ("t", 1, 7), ("u", 1, 7))) is None
    numbers = numbers_of(places(("t", 0, 7), ("t", 0, 7), ("t", 1, 7), ("u", 1, 7), ("u", 1, 7)))
    assert numbers is not None
    assert numbers.tolist() == [0, 0, 1, 2, 2]


FATE = st.sampled_from([None, "drop", "reject", "stop"])


@given(st.lists(st.lists(FATE, min_size=1, max_size=4), min_size=1, max_size=8))
def test_a_record_of_several_rows_ends_with_one_fate(records: list[list[str | None]]) -> None:
    numbers = np.array([number for number, fates in enumerate(records) for _ in fates], dtype=np.int64)
    flat = [fate for fates in records for fate in fates]
    outs = pa.array([None if fate is None else {"fate": fate, "code": fate} for fate in flat], OUT)
    stays = settled(outs, numbers)
    for number, fates in enumerate(records):
        kept = [flat[row] for row in np.flatnonzero(stays & (numbers == number))]
        bad = [fate for fate in fates if fate in ("reject", "stop")]
        if bad:
            assert kept == bad[:1]
        elif None in fates:
            assert kept == [None] * fates.count(None)
        else:
            assert kept == ["drop"]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.integers(1, 7))
def test_a_record_that_lies_in_two_batches_is_put_together(sizes: list[int], cut: int) -> None:
    offsets = [offset for offset, size in enumerate(sizes) for _ in range(size)]
    whole = pa.RecordBatch.from_pydict(
        {"_topic": ["t"] * len(offsets), "_partition": [0] * len(offsets), "_offset": offsets}
    )
    pieces = [whole.slice(at, cut) for at in range(0, len(offsets), cut)]
    made = list(whole_records([whole.slice(0, 0), *pieces]))
    assert [offset for batch in made for offset in batch["_offset"].to_pylist()] == offsets
    seen = [set(batch["_offset"].to_pylist()) for batch in made]
    assert sum(map(len, seen)) == len(sizes)
