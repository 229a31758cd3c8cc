"""Topics made anew and clusters that are others are told by their ids, and refused."""

from __future__ import annotations

import pytest

from penstock.errors import Refused
from penstock.origin import Origin, complete, recreated, same_origin
from penstock.testing.past import Past

WAS = Origin("c1", {"a": "id-a", "b": "id-b"})


def test_a_recreated_topic_is_told_by_both_ids() -> None:
    now = Origin("c1", {"a": "id-new", "b": "id-b"})
    assert recreated(WAS, now) == ["a"]
    with pytest.raises(Refused, match=r"topic a was deleted and created again: .* id id-a, this one has the id id-new"):
        same_origin("p", WAS, now, "penstock new-generation p.yaml")


def test_another_cluster_behind_the_same_address_is_refused() -> None:
    with pytest.raises(Refused, match="the cluster c2, but the batches so far were read from the cluster c1"):
        same_origin("p", WAS, Origin("c2", WAS.topics), "penstock new-generation p.yaml")


@pytest.mark.parametrize(
    "now",
    [
        WAS,
        Origin("c1", {**WAS.topics, "c": "id-c"}),
        Origin("c1", {"a": "id-a"}),
        Origin("", {"a": "", "b": ""}),
    ],
    ids=["the same", "one joins", "one is not read now", "a broker without ids"],
)
def test_other_differences_are_none_of_the_ids_business(now: Origin) -> None:
    same_origin("p", WAS, now, "")
    same_origin("p", Origin(), now, "")


def test_the_ledger_refuses_the_batch_after_a_topic_was_made_anew(past: Past) -> None:
    past.origin = Origin("cluster-1", {"t": "topic-id-2"})
    with pytest.raises(Refused, match="topic t was deleted and created again"):
        past.batch()
    assert past.offsets() == list(range(9))


def test_a_replay_of_a_batch_of_another_topic_is_refused(past: Past) -> None:
    past.batch(until="freeze")
    past.next_batch, past.offset = 3, 9
    past.origin = Origin("cluster-1", {"t": "topic-id-2"})
    with pytest.raises(Refused, match="topic t was deleted and created again"):
        past.batch()


def test_a_start_names_exactly_the_partitions_that_are_there() -> None:
    assert complete({("a", 0): 5, ("gone", 0): 9}, [("a", 0), ("a", 1)]) == {("a", 0): 5, ("a", 1): -2}
