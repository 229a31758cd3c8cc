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
    from pyspark.sql import Column, DataFrame, Observation, SparkSession

BINS = 1_000_000
"""More than a batch has pairs of partition and task. Below that Spark's histogram counts each value exactly."""


class Reading:
    """Counts the rows of a batch as they leave the source, by partition."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self.partitions = sorted((part.topic, part.partition) for part in ranges)
        self._groups: dict[int, list[tuple[str, int]]] = {}
        """Number -> the partitions whose rows Spark counts under it: one, unless numbers of topics collide."""
        self._observation: Observation | None = None

    def over(self, rows: DataFrame) -> DataFrame:
        """The same rows, counted when an action runs over them. One aggregate: many would cost each row its share."""
        from pyspark.sql import Observation

        self._observation = Observation()
        topics = sorted({topic for topic, _ in self.partitions})
        numbers = _numbers(rows.sparkSession, topics) if len(topics) > 1 else dict.fromkeys(topics, 0)
        self._groups = {}
        for topic, partition in self.partitions:
            self._groups.setdefault((numbers[topic] << 20) + partition, []).append((topic, partition))
        number = _NUMBER if len(topics) > 1 else "partition"
        return rows.observe(self._observation, _expression(rows.sparkSession.sparkContext, number))

    def counts(self) -> dict[int, int]:
        """Rows read, by number."""
        assert self._observation is not None, "over() comes first"
        found: dict[int, int] = {}
        for number, count in self._observation.get["read"] or ():  # one entry for each task that met it
            found[number] = found.get(number, 0) + int(count)
        return found

    def close(self, tally: Tally, sinks: Iterable[str]) -> int:
        """Rows read, if every one of them has a fate for every sink; else NotConserved."""
        counts = self.counts()
        strange = sum(count for number, count in counts.items() if number not in self._groups)
        problems = [f"{strange} rows of partitions outside the batch"] if strange else []
        for number, group in self._groups.items():
            problems += _open_ends(group, counts.get(number, 0), tally, sinks)
        if problems:
            raise NotConserved(
                "The batch does not close: " + "; ".join(problems) + ".",
                data="Nothing of it is visible. The files it wrote are orphans.",
                remedy="Run again; if it stays so, report it with the state folder's ledger.",
            )
        return sum(counts.values())


_HASH = "hash({}) & 2147483647"
_NUMBER = f"shiftleft(CAST({_HASH.format('topic')} AS BIGINT), 20) + partition"
"""Of a topic and a partition, in Spark: 51 bits, so that it is exact in the histogram's doubles."""


@lru_cache(maxsize=8)
def _expression(_context: SparkContext, number: str) -> Column:
    """The count as a column of this context. It takes several calls to the JVM, and most batches want the same."""
    from pyspark.sql import functions as F  # noqa: N812  # as everybody writes it

    return F.expr(f"histogram_numeric({number}, {BINS}) AS read")


_hashes: dict[str, int] = {}
"""Topic -> its hash: the same always."""


def _numbers(session: SparkSession, topics: Iterable[str]) -> dict[str, int]:
    """What Spark will make of these topics. They hold no quote: Kafka allows none."""
    new = [topic for topic in topics if topic not in _hashes]
    if new:
        [row] = session.sql("SELECT " + ", ".join(_HASH.format(f"'{topic}'") for topic in new)).collect()
        _hashes.update(zip(new, row, strict=True))
    return _hashes


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
