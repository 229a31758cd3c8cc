"""Conservation: what the source gave is what was written, rejected and dropped, for every sink and partition.

`read` is counted by Spark where the records leave the source (`observe`), never by the code that writes them, so
that a lost Arrow batch, a worker that returned early or a task that ran twice shows before anything is visible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from penstock.errors import CheckStopped, NotConserved
from penstock.ledger.records import Intent
from penstock.ranges import Range
from penstock.sinks.contract import Frozen
from penstock.tally import Fates, Tally

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import Column, DataFrame, Observation

MOST_GROUPS = 64
"""Counting costs a comparison per row and group: beyond so many partitions several share a group."""


class Reading:
    """Counts the rows of a batch as they leave the source, by group of partitions."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        partitions = sorted((part.topic, part.partition) for part in ranges)
        self.groups: list[list[tuple[str, int]]] = [partitions[i::MOST_GROUPS] for i in range(MOST_GROUPS)]
        self.groups = [group for group in self.groups if group]
        self._observation: Observation | None = None

    def over(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted when an action runs over them."""
        from pyspark.sql import Observation

        self._observation = Observation()
        several = len({topic for group in self.groups for topic, _ in group}) > 1
        counts = [f"count_if({_is_one_of(group, several)}) AS g{i}" for i, group in enumerate(self.groups)]
        columns = _expressions(rows.sparkSession.sparkContext, "count(1) AS read", *counts)
        return rows.observe(self._observation, *columns)

    def counts(self) -> tuple[int, list[int]]:
        """Rows read, in all and by group."""
        assert self._observation is not None, "over() comes first"
        seen = self._observation.get
        return seen["read"], [seen[f"g{i}"] for i in range(len(self.groups))]

    def close(self, tally: Tally, sinks: Iterable[str]) -> int:
        """Rows read, if every one of them has a fate for every sink; else NotConserved."""
        read, by_group = self.counts()
        problems = [] if read == sum(by_group) else [f"{read - sum(by_group)} rows of partitions outside the batch"]
        for group, count in zip(self.groups, by_group, strict=True):
            problems += _open_ends(group, count, tally, sinks)
        if problems:
            raise NotConserved(
                "The batch does not close: " + "; ".join(problems) + ".",
                data="Nothing of it is visible. The files it wrote are orphans.",
                remedy="Run again; if it stays so, report it with the state folder's ledger.",
            )
        return read


@lru_cache(maxsize=8)
def _expressions(_context: SparkContext, *texts: str) -> list[Column]:
    """The texts as columns of this context. Each takes several calls to the JVM, and most batches want the same."""
    from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

    return [F.expr(text) for text in texts]


def none_stops(intent: Intent, tally: Tally) -> None:
    """Raise CheckStopped if a check says to stop at one of the batch's records."""
    for (topic, partition), fates in sorted(tally.partitions.items()):
        for check, count in fates.stopped.items():
            raise CheckStopped(
                f"{intent.pipeline}, batch {intent.batch_id}: check {check} says to stop, and {count} records of "
                f"{topic}-{partition} between offsets {fates.first} and {fates.last} fail it.",
                data="Nothing of this batch is visible, and nothing was skipped.",
                remedy="Mend the producer or the rule (on_fail: reject keeps such records apart), then run again.",
            )


def files_agree(frozen: dict[str, Frozen], tally: Tally, letters: Collection[str]) -> None:
    """The rows in the files are the rows that were counted; else NotConserved."""
    total = tally.total()
    for name, share in frozen.items():
        counted = sum(total.by_code().values()) if name in letters else total.rows[name]
        if share.rows != counted:
            raise NotConserved(
                f"sink {name}: its files hold {share.rows} rows, but {counted} were counted.",
                data="Nothing of this batch is visible.",
                remedy="Run again; if it stays so, report it with the state folder's ledger.",
            )


def _open_ends(group: list[tuple[str, int]], count: int, tally: Tally, sinks: Iterable[str]) -> list[str]:
    fates = Fates()
    for partition in group:
        fates.add(tally.partitions.get(partition, Fates()))
    where = ", ".join(f"{topic}-{partition}" for topic, partition in group)
    problems = [] if fates.seen == count else [f"{where}: {count} rows read, {fates.seen} seen by the tasks"]
    for sink in sinks:
        if fates.accounted(sink) != count:
            problems.append(f"{where}, sink {sink}: {count} rows read, {fates.accounted(sink)} accounted for")
    return problems


def _is_one_of(group: list[tuple[str, int]], several_topics: bool) -> str:
    """SQL that is true for rows of these partitions; topics are compared only where there are several.

    Topic names hold no quote: Kafka allows none.
    """
    topics: dict[str, list[int]] = {}
    for topic, partition in group:
        topics.setdefault(topic, []).append(partition)
    any_of = {topic: f"partition IN ({', '.join(map(str, numbers))})" for topic, numbers in topics.items()}
    if not several_topics:
        return " OR ".join(any_of.values())
    return " OR ".join(f"(topic = '{topic}' AND {partitions})" for topic, partitions in any_of.items())
