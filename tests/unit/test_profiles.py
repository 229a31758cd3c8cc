"""A profile chooses defaults; what is written wins, in a file and in Python."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Delta, Every, Kafka, Pace, Pipeline, Raw, Sink
from penstock.errors import InvalidPipeline
from penstock.options import Duration
from penstock.spec.write import to_yaml


def made(**sections: Any) -> Pipeline:
    whole = {
        "name": "p",
        "source": Kafka(brokers=("localhost:9092",), topics=("t",)),
        "decode": Raw(),
        "sinks": {"lake": Sink(to=Delta(table="./lake/t"))},
    }
    return Pipeline(**{**whole, **sections})


def test_without_a_profile_throughput_is_meant() -> None:
    assert made() == made(profile="throughput")
    assert made().trigger == Every(every=Duration("10 seconds"))
    assert made().pace.batch_target == Duration("20 seconds")


def test_the_latency_profile_follows_batch_upon_batch() -> None:
    quick = made(profile="latency")
    assert quick.trigger == "as_fast_as_possible"
    assert quick.pace.batch_target == Duration("1 second")


def test_what_is_written_wins() -> None:
    quick = made(profile="latency", trigger=Every(every=Duration("2 seconds")), pace=Pace(max_rows=5))
    assert quick.trigger == Every(every=Duration("2 seconds"))
    assert (quick.pace.max_rows, quick.pace.batch_target) == (5, Duration("1 second"))
    slow = made(profile="latency", pace=Pace(batch_target=Duration("20 seconds")))
    assert slow.pace.batch_target == Duration("20 seconds")


def test_only_the_profile_is_written_where_its_defaults_hold() -> None:
    text = to_yaml(made(profile="latency"))
    assert "profile: latency\n" in text
    assert "trigger" not in text


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InvalidPipeline, match="profile"):
        made(profile="fast")


def test_a_freshness_that_the_trigger_cannot_reach_is_refused_whoever_chose_the_trigger() -> None:
    with pytest.raises(InvalidPipeline, match="as_fast_as_possible"):
        made(pace=Pace(freshness=Duration("5 seconds")))
    assert made(profile="latency", pace=Pace(freshness=Duration("5 seconds"))).pace.freshness == Duration("5 seconds")
