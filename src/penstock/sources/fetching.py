"""How Spark's consumers fetch. It keeps one for every partition that an executor read, with all that it fetched."""

from __future__ import annotations

FETCHED_BYTES = 32 << 20
"""What all consumers together may fetch ahead, as it comes from the broker; in the heap it is several times as much."""
POLLED_ROWS = 100_000
"""What all consumers together may have polled and not handed on."""
AS_THE_SYSTEM_LIKES = "-1"
"""Of a socket's buffer. Kafka's client would have 64 KB: a fetch then comes in ten or more pieces, each a call or two
to the system, while the broker waits."""
WAIT_MILLISECONDS = 1
"""A batch reads what is there, so nothing is waited for, but for one thing: behind every fetch the consumer sends the
next, ahead. Behind the last record of a partition the broker holds that one back (half a second, if nobody says
otherwise), and Spark's question for the partition's bounds stands in line behind it: in every task of every batch that
reads to the end."""


def fetch_options(partitions: int, *, batches: bool = True) -> dict[str, str]:
    """Of the consumers of so many partitions. Spark asks for bounds after every poll, so that few large ones are best.

    Without `batches`, in real time, they do wait for what comes next.
    """
    share = max(1, partitions)
    return {
        **({"kafka.fetch.max.wait.ms": str(WAIT_MILLISECONDS)} if batches else {}),
        "kafka.max.partition.fetch.bytes": str(_within(FETCHED_BYTES // share, 64 << 10, 4 << 20)),
        "kafka.max.poll.records": str(_within(POLLED_ROWS // share, 500, 20_000)),
        "kafka.receive.buffer.bytes": AS_THE_SYSTEM_LIKES,
    }


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
