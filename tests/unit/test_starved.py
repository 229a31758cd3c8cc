"""A partition that nobody reads, in real time, is told of."""

from __future__ import annotations

from penstock.engine.starved import Starved

ONE, TWO = ("t", 0), ("t", 1)


def test_a_partition_that_stands_still_while_more_waits_is_told_once() -> None:
    starved = Starved()
    assert starved.look({ONE: 10, TWO: 0}, {ONE: 10, TWO: 5}) == [], "the first look has nothing to compare with"
    assert starved.look({ONE: 20, TWO: 0}, {ONE: 25, TWO: 9}) == [TWO]
    assert starved.look({ONE: 30, TWO: 0}, {ONE: 35, TWO: 12}) == [], "it was told"


def test_one_that_is_read_again_can_be_told_again() -> None:
    starved = Starved()
    starved.look({ONE: 0}, {ONE: 5})
    assert starved.look({ONE: 0}, {ONE: 9}) == [ONE]
    assert starved.look({ONE: 9}, {ONE: 9}) == []
    assert starved.look({ONE: 9}, {ONE: 20}) == [ONE]


def test_an_idle_partition_and_one_that_falls_behind_are_not_starved() -> None:
    starved = Starved()
    starved.look({ONE: 5, TWO: 5}, {ONE: 5, TWO: 50})
    assert starved.look({ONE: 5, TWO: 6}, {ONE: 5, TWO: 500}) == []
