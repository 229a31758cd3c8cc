"""How much Spark's consumers fetch: all of them together stay within bounds."""

from __future__ import annotations

import pytest

from penstock.sources.fetching import FETCHED_BYTES, POLLED_ROWS, fetch_options


@pytest.mark.parametrize("partitions", [0, 1, 4, 12, 48, 200])
def test_many_partitions_share_what_may_be_fetched(partitions: int) -> None:
    options = fetch_options(partitions)
    assert int(options["kafka.max.partition.fetch.bytes"]) * partitions <= FETCHED_BYTES
    assert int(options["kafka.max.poll.records"]) * partitions <= POLLED_ROWS


def test_a_batch_waits_for_nothing_and_real_time_does() -> None:
    assert fetch_options(4)["kafka.fetch.max.wait.ms"] == "1"
    assert "kafka.fetch.max.wait.ms" not in fetch_options(4, batches=False)


def test_few_partitions_fetch_much_and_very_many_not_too_little() -> None:
    assert fetch_options(4)["kafka.max.poll.records"] == "20000"
    assert fetch_options(4)["kafka.max.partition.fetch.bytes"] == str(4 << 20)
    assert fetch_options(100_000)["kafka.max.poll.records"] == "500"
