"""In which order findings are told: the worst first, and a cause before what follows from it."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from penstock.operate.doctor import DIAGNOSES, Finding, Harm, ranked

CODES = {each.code: each for each in DIAGNOSES}


def found(code: str, weight: float = 0.5) -> Finding:
    return Finding(f"{code} it is", weight=weight, code=code, harm=CODES[code].harm)


def told(*codes: str) -> list[str]:
    return [each.code for each in ranked(map(found, codes))]


def test_what_loses_records_comes_before_what_stands_before_what_is_slow_before_what_costs() -> None:
    assert told("small_files", "reject_rate", "hot_partition", "jars", "records_gone") == [
        "records_gone",
        "jars",
        "hot_partition",
        "reject_rate",
        "small_files",
    ]


def test_a_cause_comes_before_the_loss_that_it_will_lead_to() -> None:
    assert told("retention", "hot_partition", "small_files") == ["hot_partition", "retention", "small_files"]
    assert told("retention", "under_provisioned", "slow_sink") == ["slow_sink", "under_provisioned", "retention"]
    assert told("retention", "run_failed", "broker_away") == ["broker_away", "run_failed", "retention"]


def test_what_is_lost_already_comes_before_the_run_that_stopped_for_it() -> None:
    assert told("run_failed", "records_gone", "retention") == ["records_gone", "run_failed", "retention"]


def test_of_the_same_harm_the_surest_is_told_first() -> None:
    assert [each.code for each in ranked([found("jars", 0.3), found("no_topic", 0.9)])] == ["no_topic", "jars"]


def test_every_code_is_used_once_and_explains_only_what_there_is() -> None:
    assert len(CODES) == len(DIAGNOSES)
    assert {code for each in DIAGNOSES for code in each.explains} <= set(CODES)


def test_no_two_causes_explain_one_another() -> None:
    def following(code: str, seen: tuple[str, ...] = ()) -> None:
        assert code not in seen, f"{seen} leads back to {code}"
        for other in CODES[code].explains:
            following(other, (*seen, code))

    for code in CODES:
        following(code)


@given(st.lists(st.sampled_from(sorted(CODES)), unique=True), st.randoms())
def test_the_order_does_not_depend_on_the_order_of_looking(codes: list[str], random: Random) -> None:
    shuffled = list(codes)
    random.shuffle(shuffled)
    order = told(*codes)
    assert order == told(*shuffled)
    assert sorted(order) == sorted(codes)
    for place, code in enumerate(order):
        causes = [other for other in codes if code in CODES[other].explains]
        assert all(order.index(cause) < place for cause in causes), f"{code} is told before its cause"
    worst = max((CODES[code].harm for code in codes), default=Harm.COSTLY)
    if codes and CODES[order[0]].harm < worst:
        assert any(CODES[other].harm == worst for other in _reached(order[0])), "it leads to the worst"


def _reached(code: str) -> set[str]:
    found = {code}
    for other in CODES[code].explains:
        found |= _reached(other)
    return found
