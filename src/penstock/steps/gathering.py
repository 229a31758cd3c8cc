"""How many tasks read a batch. Spark makes one of every partition; each costs CPU of its own and leaves files.

Forty-eight partitions with a thousand records each are read by a few tasks, one partition after another.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.ranges import Range

TASK_ROWS = 100_000
"""Records of a task. Its own cost, in the JVM and in the worker, is that of some 10,000 (tried with 12 partitions)."""
FEW = 10_000
"""A batch of no more than this is read by one task per slot."""


def tasks_for(ranges: Sequence[Range], slots: int) -> int | None:
    """So many tasks for a batch of these ranges; None where it has no more partitions than that."""
    rows = sum(map(len, ranges))
    tasks = slots if rows <= FEW else max(2 * slots, -(-rows // TASK_ROWS))
    return tasks if tasks < sum(len(each) > 0 for each in ranges) else None
