"""How many tasks read a batch, and how a worker takes partitions apart that one task read."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.ranges import Range
from penstock.steps.gathering import FEW, TASK_ROWS, tasks_for
from penstock.worker.intake import by_partition


def ranges(rows: int, partitions: int, idle: int = 0) -> list[Range]:
    busy = [Range("t", number, 5, 5 + rows // partitions) for number in range(partitions)]
    return busy + [Range("t", partitions + number, 5, 5) for number in range(idle)]


@pytest.mark.parametrize(
    ("rows", "partitions", "tasks"),
    [
        (48 * 20, 48, 2),
        (2, 2, None),
        (4 * 60_000, 4, None),
        (48 * 5_000, 48, 4),
        (48 * 20_000, 48, 10),
        (48 * 100_000, 48, None),
    ],
    ids=["few rows", "a task per slot anyway", "few partitions", "two per slot", "many rows", "full tasks"],
)
def test_a_batch_has_no_more_tasks_than_it_needs(rows: int, partitions: int, tasks: int | None) -> None:
    assert tasks_for(ranges(rows, partitions), slots=2) == tasks


def test_a_partition_without_records_needs_no_task() -> None:
    assert tasks_for(ranges(8, 2, idle=40), slots=2) is None


@given(st.lists(st.integers(0, 200_000), max_size=60), st.integers(1, 64))
def test_slots_are_used_and_tasks_stay_small(sizes: list[int], slots: int) -> None:
    given_ranges = [Range("t", number, 0, size) for number, size in enumerate(sizes)]
    tasks = tasks_for(given_ranges, slots)
    if tasks is not None:
        assert slots <= tasks < sum(size > 0 for size in sizes)
        assert sum(sizes) <= max(tasks * TASK_ROWS, FEW)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3)), max_size=40), st.booleans())
def test_pieces_are_of_one_partition_each_and_hold_every_row_in_order(
    places: list[tuple[str, int]], together: bool
) -> None:
    rows = sorted(places) if together else places
    batch = pa.record_batch(
        {
            "topic": pa.array([topic for topic, _ in rows], pa.string()),
            "partition": pa.array([partition for _, partition in rows], pa.int32()),
            "offset": pa.array(range(len(rows)), pa.int64()),
        }
    )
    pieces = [piece.to_pylist() for piece in by_partition(batch, "topic", "partition")]
    assert all(len({(row["topic"], row["partition"]) for row in piece}) == 1 for piece in pieces)
    assert all([row["offset"] for row in piece] == sorted(row["offset"] for row in piece) for piece in pieces)
    assert sorted((row["offset"], row["topic"], row["partition"]) for piece in pieces for row in piece) == [
        (number, *place) for number, place in enumerate(rows)
    ]
