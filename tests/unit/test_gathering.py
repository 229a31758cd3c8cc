"""How many tasks read a batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.ranges import Range
from penstock.steps.gathering import FEW, TASK_ROWS, tasks_for


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
