"""The marker decides: a batch is there, or it is the next one, or nothing may be written."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from penstock.errors import Refused
from penstock.sinks.contract import CLOSED, WriteKey
from penstock.sinks.kafka.fates import INVISIBLE, Fate, failure, fate_of
from penstock.sinks.kafka.marker import STORY_BYTES, Marker
from penstock.sinks.kafka.verdict import recognised


def key(batch_id: int, digest: str = "d") -> WriteKey:
    return WriteKey("shop", 1, "cluster", batch_id, digest)


def marker(batch_id: int, digest: str = "d") -> Marker:
    return Marker.of(key(batch_id, digest), {"alerts": 1})


@pytest.mark.parametrize(
    ("found", "batch_id", "known", "there"),
    [
        (None, 0, None, False),
        (None, 500, None, False),  # the sink joined the pipeline late
        (marker(6), 7, 6, False),
        (marker(6), 7, None, False),  # the outcome of batch 6 was never written
        (marker(7), 7, 6, True),
        (marker(7), 7, 7, True),
        (marker(6), 20, 6, False),  # the sink had left the pipeline for a while, and the ledger knows it
    ],
)
def test_a_batch_is_there_or_the_next_one(found: Marker | None, batch_id: int, known: int | None, there: bool) -> None:
    assert recognised(found, key(batch_id), known) is there


@pytest.mark.parametrize(
    ("found", "batch_id", "known", "told"),
    [
        (None, 8, 7, "has no marker"),
        (marker(7, "another"), 7, 6, "same batch id with other content"),
        (marker(8), 7, 6, "this attempt is stale: batch 8 is there already"),
        (Marker.closing(key(0)), 7, 6, "this attempt is stale: this generation is closed"),
        (marker(4), 7, 6, "batches 5 to 6 are unaccounted for"),
        (marker(4), 7, None, "batches 5 to 6 are unaccounted for"),
    ],
)
def test_anything_else_halts_and_says_that_nothing_was_written(
    found: Marker | None, batch_id: int, known: int | None, told: str
) -> None:
    with pytest.raises(Refused) as caught:
        recognised(found, key(batch_id), known)
    assert told in str(caught.value)
    assert "Nothing was written." in str(caught.value)
    assert "penstock new-generation" in str(caught.value)


def test_a_marker_says_as_much_of_its_batch_as_there_is_room_for() -> None:
    small = Marker.of(key(3, "f" * 64), {"a": 1, "b": 2}, [["orders", 0, 0, 3]])
    assert (small.offset, small.batch_id, small.story["rows"]) == (4, 3, 3)
    assert (small.story["sinks"], small.story["ranges"]) == ({"a": 1, "b": 2}, [["orders", 0, 0, 3]])
    large = Marker.of(key(3, "f" * 64), {"a": 1}, [["orders", partition, 0, 3] for partition in range(200)])
    assert "ranges" not in large.story
    assert large.story["sinks"] == {"a": 1}
    many = Marker.of(key(3, "f" * 64), {f"sink-{number}": 1 for number in range(200)}, [])
    assert (many.story["rows"], "sinks" in many.story) == (200, False)
    assert max(len(each.written()) for each in (small, large, many)) <= STORY_BYTES


def test_a_closed_generation_has_the_last_watermark_there_is() -> None:
    closed = Marker.closing(key(7))
    assert (closed.offset, closed.batch_id, closed.closed) == (CLOSED, CLOSED, True)


def test_a_marker_is_due_when_it_was_last_said_long_ago() -> None:
    fresh = marker(3)
    old = Marker(4, {**fresh.story, "at": 1})
    assert (fresh.due(3600), old.due(3600), Marker(4).due(3600), old.renewed().due(3600)) == (False, True, True, False)
    assert old.renewed().story == {**old.story, "at": old.renewed().story["at"]}


@pytest.mark.parametrize(
    ("code", "fate"),
    [
        ("_FENCED", Fate.FENCED),
        ("INVALID_PRODUCER_EPOCH", Fate.FENCED),
        ("MSG_SIZE_TOO_LARGE", Fate.BROKEN),
        ("_INCONSISTENT", Fate.BROKEN),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", Fate.FORBIDDEN),
        ("_TIMED_OUT", Fate.AGAIN),  # its own flag says otherwise
        ("INVALID_TXN_STATE", Fate.BROKEN),
        ("OUT_OF_ORDER_SEQUENCE_NUMBER", Fate.BROKEN),
    ],
)
def test_every_error_has_a_fate(code: str, fate: Fate) -> None:
    assert fate_of(KafkaError(getattr(KafkaError, code))) is fate


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("MSG_SIZE_TOO_LARGE", "Grant  DescribeConfigs  on the topic"),
        (
            "TOPIC_AUTHORIZATION_FAILED",
            "Write and Describe on the sinks' topics, Read",
        ),
        ("GROUP_AUTHORIZATION_FAILED", "Read on group shop.g1.cluster (or on the prefix shop.g)"),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", "Write and Describe on transactional id shop.g1.cluster.0"),
        ("CLUSTER_AUTHORIZATION_FAILED", "IdempotentWrite on the cluster"),
        ("INVALID_TRANSACTION_TIMEOUT", "transaction.max.timeout.ms"),
        ("INVALID_TXN_STATE", "shop, topics of cluster cluster, batch 7: could not send records"),
    ],
)
def test_a_failure_says_what_became_of_the_data_and_what_to_do(code: str, told: str) -> None:
    error = failure(key(7), "send records", KafkaError(getattr(KafkaError, code)), INVISIBLE)
    assert told in str(error)
    assert "Nothing of this batch is visible" in str(error)
