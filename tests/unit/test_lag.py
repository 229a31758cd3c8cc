"""Lag from what was measured: rows, seconds, rates, hot partitions, and what is left of the runway."""

from __future__ import annotations

import dataclasses

import pytest

from penstock.observe.lag import Lag
from penstock.observe.runway import Chase, runway
from penstock.observe.samples import MOST, Samples
from penstock.observe.tracker import Measure, Tracker
from penstock.ranges import Range
from penstock.tally import Tally
from penstock.unread import Probe, Retention

PART = ("t", 0)


def seen(tracker: Tracker, at: float, position: int, end: int, probe: Probe | None = None, **more: object) -> Lag:
    probes = {} if probe is None else {PART: probe}
    return tracker.see(Measure(at=at, positions={PART: position}, ends={PART: end}, probes=probes, **more))  # type: ignore[arg-type]


def learned(seen_rows: int, offsets: int) -> Tracker:
    tracker, tally = Tracker(), Tally()
    tally.of(*PART).seen = seen_rows
    tracker.learn([Range(*PART, 0, offsets)], tally)
    return tracker


def test_offsets_are_rows_until_somebody_knows_better() -> None:
    [part] = seen(Tracker(), 100.0, 10, 25).partitions
    assert (part.rows, part.offsets, part.estimated) == (15, 15, False)


def test_a_topic_whose_offsets_are_half_markers_has_half_as_many_rows() -> None:
    [part] = seen(learned(50, 100), 100.0, 1000, 1200).partitions
    assert (part.rows, part.offsets, part.estimated) == (100, 200, True)


def test_where_only_markers_are_left_nothing_is_unread() -> None:
    [part] = seen(Tracker(), 100.0, 10, 12, Probe(10, None, upto=12)).partitions
    assert (part.rows, part.offsets, part.seconds, part.catch_up_seconds) == (0, 2, 0.0, 0.0)


def test_what_came_after_a_look_counts_as_at_least_one_row() -> None:
    [part] = seen(learned(1, 1000), 100.0, 10, 13, Probe(10, None, upto=12)).partitions
    assert (part.rows, part.estimated) == (1, True)


def test_what_was_counted_is_counted_and_the_rest_is_worked_out_by_its_share() -> None:
    [part] = seen(Tracker(), 100.0, 0, 1000, Probe(0, 0, 90.0, counted=50, upto=100)).partitions
    assert (part.rows, part.estimated) == (50 + 450, True)
    [whole] = seen(Tracker(), 100.0, 0, 100, Probe(0, 0, 90.0, counted=50, upto=100)).partitions
    assert (whole.rows, whole.estimated) == (50, False)


def test_the_age_is_that_of_the_next_unread_record() -> None:
    [part] = seen(Tracker(), 100.0, 7, 9, Probe(7, 8, timestamp=88.5, counted=1, upto=9)).partitions
    assert (part.age_seconds, part.waiting_seconds, part.seconds) == (11.5, None, 11.5)


def test_how_long_a_record_waits_is_worked_out_from_when_the_end_passed_it() -> None:
    tracker = Tracker()
    seen(tracker, 100.0, 0, 10)
    seen(tracker, 110.0, 10, 30)
    [part] = seen(tracker, 120.0, 20, 30, Probe(20, 20, timestamp=1.0, counted=1, upto=21)).partitions
    assert part.waiting_seconds == 15.0, "offset 20 came in the middle between 100 and 110"
    assert part.seconds == 15.0, "a clock of a producer that is years behind frightens nobody"
    assert part.age_seconds == 119.0


def test_rates_are_measured_from_commit_to_commit_and_tell_when_it_is_caught_up() -> None:
    tracker = Tracker()
    for step in range(11):
        lag = seen(tracker, 100.0 + 10 * step, 200 * step, 1000 + 100 * step)
    [part] = lag.partitions
    assert (part.arrival_per_second, part.read_per_second) == (10.0, 20.0)
    assert lag.total is not None
    assert part.catch_up_seconds == pytest.approx(part.offsets / 10) == lag.total.catch_up_seconds


def test_a_reader_that_stopped_is_not_read_at_its_old_pace() -> None:
    tracker = Tracker(window=300)
    for step in range(6):
        seen(tracker, 100.0 + 10 * step, 100 * step, 1000 + 100 * step)
    for step in range(6, 20):
        lag = seen(tracker, 100.0 + 10 * step, 500, 1000 + 100 * step)
    [part] = lag.partitions
    assert part.read_per_second is not None
    assert (part.read_per_second < 3.0, part.arrival_per_second) == (True, 10.0)
    assert part.catch_up_seconds is None


def test_a_partition_that_carries_far_more_than_its_neighbours_is_hot() -> None:
    ends = {("t", number): 100 for number in range(5)} | {("t", 3): 5000, ("u", 0): 9000}
    lag = Tracker().see(Measure(at=1.0, positions=dict.fromkeys(ends, 0), ends=ends))
    assert [part.name for part in lag.partitions if part.hot] == ["t-3"]
    assert [topic.hot for topic in lag.topics] == [("t-3",), ()]


def test_even_partitions_and_small_ones_are_not_hot() -> None:
    for ends in ({("t", 0): 90_000, ("t", 1): 60_000, ("t", 2): 50_000}, {("t", 0): 900, ("t", 1): 1}):
        lag = Tracker().see(Measure(at=1.0, positions=dict.fromkeys(ends, 0), ends=ends))
        assert not any(part.hot for part in lag.partitions)


def test_what_was_deleted_unread_is_told_and_is_no_longer_unread() -> None:
    [part] = seen(Tracker(), 1.0, 10, 100, starts={PART: 40}).partitions
    assert (part.lost, part.rows, part.offsets) == (30, 60, 90)


def test_sparks_figure_and_the_groups_stand_beside_ours() -> None:
    lag = seen(Tracker(), 1.0, 10, 100, spark={PART: 70}, group={PART: 25})
    [part] = lag.partitions
    assert (part.offsets, part.spark_offsets, part.group_offsets) == (90, 70, 75)
    assert lag.total is not None
    assert (lag.total.spark_offsets, lag.total.group_offsets) == (70, 75)


def test_half_of_a_figure_is_none() -> None:
    ends = {("t", 0): 10, ("t", 1): 10}
    lag = Tracker().see(Measure(at=1.0, positions=dict.fromkeys(ends, 0), ends=ends, group={("t", 0): 10}))
    assert lag.total is not None
    assert lag.total.group_offsets is None


def test_a_lag_is_the_same_after_a_trip_through_json() -> None:
    keeps = {"t": Retention(seconds=60.0)}
    probe = Probe(0, 0, timestamp=50.0, counted=1, upto=1, bytes=9)
    lag = seen(Tracker(), 100.0, 0, 2000, probe, retention=keeps, unknown=("nothing",))
    assert Lag.from_json(lag.to_json()) == lag
    assert lag.partitions[0].runway is not None


def test_the_past_of_a_partition_stays_small_and_reaches_far_back() -> None:
    samples = Samples()
    for step in range(100_000):
        samples.add(float(step), 10 * step, 0)
    assert len(samples.kept) <= MOST + 1
    assert samples.arrived(999_000) == pytest.approx(99_900, abs=20)
    assert samples.arrived(500) is None or samples.arrived(500) == pytest.approx(50, abs=50_000)


def test_a_topic_that_was_made_anew_has_no_past() -> None:
    samples = Samples()
    samples.add(1.0, 1000, 0)
    samples.add(2.0, 2000, 0)
    samples.add(3.0, 5, 0)
    assert samples.arriving(100.0) is None
    assert len(samples.kept) == 1


STANDS = Chase(
    position=500,
    start=0,
    end=1000,
    waited_seconds=600.0,
    slipping=1.0,
    arrival_per_second=10.0,
    read_per_second=0.0,
    bytes_per_offset=100.0,
)


def chase(**changes: object) -> Chase:
    return dataclasses.replace(STANDS, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keeps", "how", "seconds", "slack", "by"),
    [
        (Retention(seconds=3600), chase(), 3000.0, 3000.0, "time"),
        (Retention(seconds=3600), chase(slipping=0.5), 6000.0, 3000.0, "time"),
        (Retention(seconds=3600), chase(slipping=0.0), None, 3000.0, "time"),
        (Retention(seconds=3600), chase(slipping=None), 3000.0, 3000.0, "time"),
        (Retention(seconds=300), chase(slipping=0.0), 0.0, 0.0, "time"),
        (Retention(), chase(), None, None, None),
        (Retention(seconds=3600), chase(position=1000), None, None, None),
        (Retention(bytes=200_000), chase(), 150.0, 150.0, "size"),
        (Retention(bytes=200_000), chase(read_per_second=5.0), 300.0, 150.0, "size"),
        (Retention(bytes=200_000), chase(read_per_second=12.0), None, 150.0, "size"),
        (Retention(bytes=200_000), chase(arrival_per_second=0.0), None, None, "size"),
        (Retention(seconds=620, bytes=200_000), chase(), 20.0, 20.0, "time"),
        (Retention(seconds=6000, bytes=200_000), chase(), 150.0, 150.0, "size"),
    ],
)  # fmt: skip
def test_the_runway_is_how_long_the_next_unread_record_is_safe(
    keeps: Retention, how: Chase, seconds: float | None, slack: float | None, by: str | None
) -> None:
    found = runway(keeps, how)
    assert (found.seconds, found.slack_seconds, found.by) == (seconds, slack, by)


def test_records_that_are_compressed_on_disk_do_not_raise_an_alarm_by_their_full_size() -> None:
    full = chase(start=100, end=100_100, position=99_000, bytes_per_offset=1000.0)
    found = runway(Retention(bytes=10_000_000, segment_bytes=1_000_000), full)
    assert found.slack_seconds is not None
    assert found.slack_seconds > 8_000, "by their full size only 10,000 records would fit, and 100,000 are there"
