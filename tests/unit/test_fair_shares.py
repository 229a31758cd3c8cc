"""A batch shared out over topics: no topic waits for another that is flooded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.pace.fair import shares


def test_a_flooded_topic_leaves_the_others_what_they_need() -> None:
    given_ = shares(1000, {"flood": 1_000_000, "small": 100, "other": 50})
    assert given_["small"] >= 100
    assert given_["other"] >= 50
    assert given_["flood"] >= 700
    assert sum(given_.values()) == 1000


def test_two_flooded_topics_share_evenly() -> None:
    assert shares(1000, {"a": 10**6, "b": 10**9}) == {"a": 500, "b": 500}


def test_what_nobody_knows_is_taken_for_much() -> None:
    assert shares(1000, {"a": None, "b": None}) == {"a": 500, "b": 500}


def test_nothing_for_anybody_while_it_is_paused() -> None:
    assert shares(0, {"a": 5, "b": None}) == {"a": 0, "b": 0}


@given(st.integers(1, 10**7), st.dictionaries(st.text(max_size=3), st.none() | st.integers(0, 10**9), max_size=12))
def test_shares_never_exceed_the_limit_and_nobody_is_left_out(limit: int, waiting: dict[str, int | None]) -> None:
    given_ = shares(limit, waiting)
    assert set(given_) == set(waiting)
    assert all(rows >= 1 for rows in given_.values())
    assert sum(given_.values()) <= max(limit, len(waiting))
