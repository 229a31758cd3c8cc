"""Advice on a hot partition: given where splitting it would help, and only there."""

from __future__ import annotations

import pytest

from penstock.pace.hot import advice, hot
from penstock.ranges import Range


def ranges(*rows: int) -> list[Range]:
    return [Range("t", number, 0, count) for number, count in enumerate(rows)]


@pytest.mark.parametrize(
    ("rows", "slots", "seconds", "found"),
    [
        ((1000, 90_000, 1000), 4, 20.0, 1),
        ((90_000,), 2, 20.0, 0),
        ((90_000, 80_000), 4, 20.0, None),
        ((30_000, 30_000, 30_000, 30_000), 2, 20.0, None),
        ((1000, 90_000, 1000), 4, 2.0, None),
        ((1000, 90_000, 1000), 1, 20.0, None),
        ((), 4, 20.0, None),
        ((90_000, *[30_000] * 20), 4, 20.0, None),
    ],
    ids=["hot", "alone", "two large ones", "even", "short", "one slot", "empty", "enough other work"],
)
def test_a_partition_is_hot_where_slots_wait_for_it(
    rows: tuple[int, ...], slots: int, seconds: float, found: int | None
) -> None:
    part = hot(ranges(*rows), slots, seconds)
    assert (None if part is None else part.partition) == found


def test_the_advice_names_the_key_and_a_number() -> None:
    batch = ranges(1000, 90_000)
    text = advice(batch[1], batch, 4, 20.0)
    assert text.startswith("t-1 held 90,000 of the 91,000 rows")
    assert text.endswith("source.kafka.task_rows: 11250")
