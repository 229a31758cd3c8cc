"""Lag against the truth, on a real broker: what a reader could still read is read and counted."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from penstock.engine.meter import Meter
from penstock.observe.lag import Lag, PartitionLag
from penstock.ranges import Positions
from penstock.sources.cluster import Cluster
from penstock.sources.probing import Prober
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka, Record, delete_records, ensure_topic, produce, read_all, start_offsets, up

EAGER = {
    "log.cleaner.backoff.ms": "200",
    "log.retention.check.interval.ms": "200",
    "log.initial.task.delay.ms": "200",
    "log.segment.delete.delay.ms": "0",
}
"""A broker that compacts and deletes at once, not every few minutes."""
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def eager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevKafka]:
    broker = up(tmp_path_factory.mktemp("eager"), child=True, extra=EAGER)
    yield broker
    broker.stop()


def new_topic(broker: DevKafka, partitions: int = 1, **config: str) -> str:
    name = f"lag-{next(_numbers)}"
    assert ensure_topic(
        broker.bootstrap, name, partitions, {key.replace("_", "."): value for key, value in config.items()}
    )
    return name


def unread(broker: DevKafka, topic: str, positions: Positions, isolation: str = "read_committed") -> list[Record]:
    """The truth: every record that a reader at these positions would still be given."""
    every = read_all(broker.bootstrap, topic, isolation)
    return [record for record in every if record.offset >= positions.get((topic, record.partition), 0)]


def measured(broker: DevKafka, topic: str, positions: Positions, isolation: str = "committed") -> Lag:
    cluster = Cluster(broker.bootstrap, isolation)
    meter = Meter(cluster)
    try:
        return meter.measure(parts_of(cluster, topic), positions)
    finally:
        meter.close()


def parts_of(cluster: Cluster, topic: str) -> list[tuple[str, int]]:
    return [(topic, number) for number in cluster.partitions()[topic]]


def only(lag: Lag) -> PartitionLag:
    [part] = lag.partitions
    return part


def transactions(broker: DevKafka, topic: str, ends: str, each: int = 3) -> Producer:
    """Transactions of some records on partition 0: `c` is committed, `a` aborted, `o` left open."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions()
    for end in ends:
        producer.begin_transaction()
        for number in range(each):
            producer.produce(topic, b"%d" % number, partition=0)
        producer.flush()
        if end == "c":
            producer.commit_transaction()
        elif end == "a":
            producer.abort_transaction()
    return producer


@pytest.mark.parametrize("ends", ["c", "a", "aaaa", "cacaac", "ca" * 40, "a" * 30 + "c"])
def test_on_a_transactional_topic_the_rows_are_those_that_can_be_read(eager: DevKafka, ends: str) -> None:
    topic = new_topic(eager)
    transactions(eager, topic, ends)
    records = unread(eager, topic, {})
    part = only(measured(eager, topic, {}))
    assert (part.rows, part.estimated) == (len(records), False)
    assert part.offsets == 4 * len(ends), "what Kafka's tools call lag counts markers and aborted records"
    for record in records[:2]:
        at = {(topic, 0): record.offset + 1}
        assert only(measured(eager, topic, at)).rows == len(unread(eager, topic, at))


def test_behind_the_last_record_only_markers_are_left_and_the_lag_is_zero(eager: DevKafka) -> None:
    topic = new_topic(eager)
    transactions(eager, topic, "ccaa")
    last = read_all(eager.bootstrap, topic)[-1]
    part = only(measured(eager, topic, {(topic, 0): last.offset + 1}))
    assert (part.rows, part.seconds, part.offsets > 0) == (0, 0.0, True)


def test_what_an_open_transaction_holds_back_is_told_and_is_not_lag(eager: DevKafka) -> None:
    topic = new_topic(eager)
    open_one = transactions(eager, topic, "co")
    part = only(measured(eager, topic, {}))
    assert (part.rows, part.held) == (3, 3)
    part = only(measured(eager, topic, {}, "uncommitted"))
    assert (part.rows, part.held) == (6, 0), "a reader of uncommitted records is given them"
    open_one.abort_transaction()


def test_on_a_compacted_topic_the_rows_are_those_that_are_left(eager: DevKafka) -> None:
    topic = new_topic(eager, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.001")
    for _ in range(5):
        produce(eager.bootstrap, topic, [b"v"] * 200, keys=[b"%d" % (number % 10) for number in range(200)])
    wait_until(lambda: len(read_all(eager.bootstrap, topic)) < 500, "the broker has compacted the topic", 60)
    for position in (0, 300, 700, 999):
        at = {(topic, 0): position}

        def agrees(at: Positions = at) -> bool:  # the cleaner may work on between two looks
            return only(measured(eager, topic, at)).rows == len(unread(eager, topic, at))

        wait_until(agrees, f"the rows from {position} on are those that are left", 20)
        assert only(measured(eager, topic, at)).offsets == 1000 - position


def test_more_rows_than_are_counted_are_worked_out_from_their_share(eager: DevKafka) -> None:
    topic = new_topic(eager)
    transactions(eager, topic, "c" * 60, each=100)
    part = only(measured(eager, topic, {}))
    assert part.estimated
    assert part.offsets == 6060
    assert abs(part.rows - 6000) <= 60


def test_the_age_is_that_of_the_next_unread_record(eager: DevKafka) -> None:
    topic = new_topic(eager)
    produced = time.time() - 3600
    produce(eager.bootstrap, topic, [b"old"], timestamp_ms=int(produced * 1000))
    produce(eager.bootstrap, topic, [b"new"])
    first = unread(eager, topic, {})[0]
    lag = measured(eager, topic, {})
    assert only(lag).age_seconds == pytest.approx(lag.at - first.timestamp_ms / 1000, abs=0.01)
    assert only(lag).age_seconds == pytest.approx(3600, abs=60)
    after = only(measured(eager, topic, {(topic, 0): 1}))
    assert after.age_seconds is not None
    assert after.age_seconds < 60


def test_partitions_in_hand_are_counted_anew_only_from_where_the_last_look_ended(eager: DevKafka) -> None:
    topic = new_topic(eager)
    producer = transactions(eager, topic, "cc")
    cluster = Cluster(eager.bootstrap)
    meter = Meter(cluster)
    assert only(meter.measure([(topic, 0)], {})).rows == 6
    for round_ in range(3):
        before = cluster.latest([(topic, 0)])
        producer.begin_transaction()
        producer.produce(topic, b"more", partition=0)
        producer.commit_transaction()
        wait_until(lambda: cluster.latest([(topic, 0)]) != before, "its marker is in the topic")  # noqa: B023
        lag = only(meter.measure([(topic, 0)], {}))
        assert (lag.rows, lag.estimated) == (7 + round_, False)
    assert only(meter.measure([(topic, 0)], {(topic, 0): lag.end})).rows == 0
    meter.close()


def test_hundreds_of_partitions_are_looked_into_a_few_at_a_time(eager: DevKafka) -> None:
    topic = new_topic(eager, partitions=150)
    producer = Producer({"bootstrap.servers": eager.bootstrap, "log_level": 0})
    for number in range(600):
        producer.produce(topic, b"v", partition=number % 150)
    producer.flush()
    cluster = Cluster(eager.bootstrap)
    prober = Prober(cluster, most=40)
    ends = cluster.latest(parts_of(cluster, topic))
    positions = dict.fromkeys(ends, 0)
    assert [len(prober.look(positions, ends)) for _ in range(5)] == [40, 80, 120, 150, 150]
    assert {probe.counted for probe in prober.found.values()} == {4}
    prober.close()


def test_what_one_look_leaves_uncounted_the_next_ones_count(eager: DevKafka) -> None:
    topic = new_topic(eager, partitions=4)
    for number in range(4):
        produce(eager.bootstrap, topic, [b"v"] * 100, partition=number)
    cluster = Cluster(eager.bootstrap)
    prober = Prober(cluster, records=70, at_once=100)
    ends = cluster.latest(parts_of(cluster, topic))
    positions = dict.fromkeys(ends, 0)
    seen = [sorted(probe.counted for probe in prober.look(positions, ends).values()) for _ in range(4)]
    assert seen == [[25] * 4, [50] * 4, [70] * 4, [70] * 4]
    assert {(probe.first, probe.upto) for probe in prober.found.values()} == {(0, 70)}
    prober.close()


def test_a_burst_on_one_partition_is_a_spike_and_that_partition_is_hot(eager: DevKafka) -> None:
    topic = new_topic(eager, partitions=4)
    cluster = Cluster(eager.bootstrap)
    meter = Meter(cluster)
    parts = parts_of(cluster, topic)
    for _ in range(8):
        produce(eager.bootstrap, topic, [b"v"] * 8)
        meter.measure(parts, cluster.latest(parts))
    before = cluster.latest(parts)
    produce(eager.bootstrap, topic, [b"v"] * 5000, partition=2)
    lag = meter.measure(parts, before)
    assert lag.total is not None
    assert (lag.total.trend, lag.total.hot, lag.rows) == ("spike", (f"{topic}-2",), 5000)
    meter.close()


def test_records_are_deleted_no_sooner_than_the_runway_said(eager: DevKafka) -> None:
    topic = new_topic(eager, retention_ms="3000", segment_ms="1000")
    produce(eager.bootstrap, topic, [b"v"] * 10)
    lag = measured(eager, topic, {})
    runway = only(lag).runway
    assert runway is not None
    assert (runway.by, runway.retention_seconds) == ("time", 3.0)
    assert runway.seconds is not None
    assert 0 < runway.seconds <= 3.0
    wait_until(lambda: start_offsets(eager.bootstrap, topic)[0] > 0, "the broker has deleted them", 60)
    assert time.time() >= lag.at + runway.seconds
    gone = only(measured(eager, topic, {(topic, 0): 0}))
    assert (gone.lost, gone.rows) == (10, 0)


def test_what_was_deleted_unread_is_lost_and_the_rest_is_lag(eager: DevKafka) -> None:
    topic = new_topic(eager)
    produce(eager.bootstrap, topic, [b"v"] * 100)
    delete_records(eager.bootstrap, topic, {0: 40})
    part = only(measured(eager, topic, {(topic, 0): 25}))
    assert (part.lost, part.rows, part.offsets, part.start) == (15, 60, 75, 40)


def test_a_topic_that_keeps_everything_has_no_runway(eager: DevKafka) -> None:
    topic = new_topic(eager)
    produce(eager.bootstrap, topic, [b"v"])
    runway = only(measured(eager, topic, {})).runway
    assert runway is not None
    assert (runway.seconds, runway.slack_seconds) == (None, None)


def test_looking_leaves_no_group_behind(eager: DevKafka) -> None:
    topic = new_topic(eager)
    transactions(eager, topic, "ca")
    measured(eager, topic, {})
    admin = Cluster(eager.bootstrap).admin
    groups = [each.group_id for each in admin.list_consumer_groups().result(10).valid]
    assert groups == []
