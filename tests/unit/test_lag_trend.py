"""Growth, a spike, and the noise of a healthy pipeline."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from penstock.observe.trend import Course, Look

POLL = 10.0


def course(
    minutes: float, arrivals: Iterator[int], batch_seconds: float, reads_at_most: float = 1e12, stops_at: float = 1e12
) -> Iterator[str]:
    """What a course is called at each poll: records come every second, a batch takes what is there and commits."""
    made = Course()
    end = position = planned = 0
    next_commit = batch_seconds
    for second in range(int(minutes * 60)):
        end += next(arrivals)
        if second >= next_commit and second < stops_at:
            position, planned = planned, min(end, planned + int(reads_at_most * batch_seconds))
            next_commit += batch_seconds
        if second % POLL == 0:
            made.add(Look(float(second), end, position, end - position))
            yield made.trend()


def noise(rate: int, seed: int) -> Iterator[int]:
    rng = random.Random(seed)
    while True:
        yield max(0, int(rng.gauss(rate, rate / 2)))


@pytest.mark.parametrize("batch_seconds", [1.0, 7.0, 10.0, 33.0, 120.0])
@pytest.mark.parametrize("rate", [5, 1000])
def test_an_hour_of_healthy_noise_is_neither_growth_nor_a_spike(batch_seconds: float, rate: int) -> None:
    for seed in range(5):
        told = list(course(60, noise(rate, seed), batch_seconds))
        assert set(told) <= {"steady", "falling"}, (seed, told)


def test_a_sink_that_stops_shows_as_growth_within_some_polls() -> None:
    told = list(course(20, noise(1000, 1), 10.0, stops_at=600))
    first = told.index("growing")
    assert 60 < first <= 60 + 8
    assert set(told[first:]) == {"growing"}


def test_a_pipeline_that_reads_less_than_comes_grows() -> None:
    told = list(course(30, noise(1000, 2), 10.0, reads_at_most=700))
    assert told[-60:].count("growing") > 55


def test_a_burst_is_a_spike_at_the_next_poll_and_not_growth() -> None:
    def arrivals() -> Iterator[int]:
        quiet = noise(100, 3)
        for second in range(10**6):
            yield next(quiet) + (500_000 if second == 1195 else 0)

    told = list(course(40, arrivals(), 10.0, reads_at_most=2000))
    assert told[119:121] == ["steady", "spike"]
    assert "growing" not in told
    assert told[-1] == "steady"
