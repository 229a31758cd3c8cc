"""sink kafka in the pipeline file: what may be written, and what is said of what may not."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from penstock.options import Duration
from penstock.registry import sinks
from penstock.sinks.kafka import Topic


def test_the_sink_is_found_by_its_word() -> None:
    assert sinks["kafka"] is Topic


def test_a_topic_alone_is_enough() -> None:
    topic = Topic(topic="big-orders")
    assert (topic.delivery, topic.value, topic.compression, topic.shards) == ("exactly_once", "json", "zstd", 1)
    assert (topic.linger, topic.timeout) == (Duration("5 milliseconds"), Duration("60 seconds"))
    assert topic.expressions() == {}


def test_every_sql_text_is_given_with_its_place() -> None:
    topic = Topic(topic_from="concat('orders-', region)", key="order_id", headers={"kind": "upper(kind)"})
    assert topic.expressions() == {
        ("kafka", "topic_from"): "concat('orders-', region)",
        ("kafka", "key"): "order_id",
        ("kafka", "headers", "kind"): "upper(kind)",
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "Found neither. Try  topic: big-orders"),
        ({"topic": "a", "topic_from": "b"}, "Found both."),
        ({"topic": "no such name"}, "is not a topic's name"),
        ({"topic": "a", "key": "order_id +"}, "something is missing"),
        ({"topic": "a", "value": "xml"}, "'json', 'raw', 'avro', 'protobuf' or 'json_schema'"),
        ({"topic": "a", "subject": "a-value"}, "`subject` is for values with a schema"),
        ({"topic": "a", "value": "raw", "register": "never"}, "`register` is for values with a schema"),
        ({"topic_from": "t", "value": "avro"}, "`topic_from` with a schema needs its subject"),
        ({"topic": "a", "value": "avro", "register": "always"}, "'never' or 'if_compatible'"),
        ({"topic": "a", "headers": {"penstock.offset": "1"}}, "headers that begin with `penstock.` are penstock's own"),
        ({"topic": "a", "headers": {"": "1"}}, "a header needs a name"),
        ({"topic": "a", "shards": 2}, "only 1 is possible: all that a batch sends to a cluster is one transaction"),
        ({"topic": "a", "shards": 0}, "greater than 0"),
        ({"topic": "a", "timeout": "500 milliseconds"}, "is at least 1 second"),
        ({"topic": "a", "linger": "2 minutes"}, "is at most 1 minute"),
        ({"topic": "a", "compression": "brotli"}, "'zstd'"),
        ({"topic": "a", "brokers": "localhost:9092"}, "needs a list of addresses"),
        ({"topic": "a", "brokers": ["localhost"]}, "needs a host and a port"),
    ],
)
def test_a_wrong_setting_is_told_in_words(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Topic.model_validate(given)
    assert told in str(caught.value)
