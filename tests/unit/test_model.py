"""The protocols hold in every order of events; and every rule of them is needed, which is shown by leaving it out.

`pytest -s` shows the stories; so does `python -m penstock.testing.model`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.testing.model import Publishing, Step, Transaction, Verdict, publishing, search, transaction
from penstock.testing.model.attempts import World
from penstock.testing.model.publishing import COURTESIES, OF_GENERATIONS

TRANSACTION = {
    transaction.Rule.FENCE_THEN_CHECK: "DOUBLED",
    transaction.Rule.ONE_ID: "DOUBLED",
    transaction.Rule.MARKER_INSIDE: "DOUBLED",
    transaction.Rule.FRESH_PRODUCER: "TORN",
    transaction.Rule.EQUAL_DIGEST: "LOST",
    transaction.Rule.MISSING_HALTS: "LOST",
    transaction.Rule.STALE_HALTS: "DOUBLED",
    transaction.Rule.GAP_HALTS: "LOST",
}
ORDER = {
    publishing.Rule.INTENT_ONCE: "LOST",
    publishing.Rule.FREEZE_FIRST: "MIXED",
    publishing.Rule.MANIFEST_ONCE: "MIXED",
    publishing.Rule.NUMBER_SEEN: "MIXED",
    publishing.Rule.VOID_FIRST: "MIXED",
    publishing.Rule.KNOWN_BY_KEY: "DOUBLED",
    publishing.Rule.EQUAL_DIGEST: "LOST",
    publishing.Rule.HALF_PUBLISHED_HALTS: "MIXED",
    publishing.Rule.CLOSE_FIRST: "DOUBLED",
    publishing.Rule.LOOK_AFTER_CLOSING: "DOUBLED",
}


def test_fence_check_transact_is_safe_whatever_happens_in_whatever_order() -> None:
    told = tell("Fence, check, transact", search(Transaction(alive=3)))
    assert told.safe, told
    assert told.states == 29_430, "the model has changed: was that meant?"


@pytest.mark.parametrize("rule", TRANSACTION, ids=lambda rule: rule.name)
def test_no_rule_of_the_transaction_can_be_left_out(rule: transaction.Rule) -> None:
    told = tell(f"Without `{rule.value}`", search(Transaction(alive=2, without=rule)))
    assert str(told).startswith(TRANSACTION[rule])


def test_the_order_of_a_batch_is_safe_when_the_state_is_restored_from_a_backup() -> None:
    told = tell("Two drivers, restored states", search(Publishing(alive=2, stale=False, generations=False)))
    assert told.safe, told


def test_the_order_of_a_batch_is_safe_when_a_manifest_is_given_up() -> None:
    told = tell("Two drivers, stale manifests", search(Publishing(alive=2, restores=False, generations=False)))
    assert told.safe, told


def test_a_new_generation_is_safe_beside_drivers_that_know_nothing_of_it() -> None:
    told = tell("Two drivers, a new generation", search(Publishing(alive=2, restores=False, stale=False)))
    assert told.safe, told


@pytest.mark.parametrize("rule", ORDER, ids=lambda rule: rule.name)
def test_no_rule_of_the_order_can_be_left_out(rule: publishing.Rule) -> None:
    model = Publishing(alive=2, without=rule, generations=rule in OF_GENERATIONS)
    told = tell(f"Without `{rule.value}`", search(model))
    assert str(told).startswith(ORDER[rule])


@pytest.mark.parametrize("rule", COURTESIES, ids=lambda rule: rule.name)
def test_what_is_only_a_courtesy_can_be_left_out(rule: publishing.Rule) -> None:
    assert search(Publishing(alive=2, without=rule, stale=False, generations=False)).safe


def test_every_rule_is_left_out_once() -> None:
    assert set(TRANSACTION) == set(transaction.Rule)
    assert {*ORDER, *COURTESIES} == set(publishing.Rule)


class Named(Transaction):
    """The model that forgets nothing: every attempt keeps its name and its epoch, and there are only so many."""

    def plain(self, world: World) -> World:
        return world

    def steps(self, world: World) -> Iterator[tuple[Step, World]]:
        return ((step, after) for step, after in super().steps(world) if after.started <= self.alive)


TWO_WILL_DO = [rule for rule in TRANSACTION if rule.name not in ("EQUAL_DIGEST", "STALE_HALTS")]
"""Rules whose absence two attempts can show; the others take a third."""


@pytest.mark.parametrize("rule", [None, *TWO_WILL_DO], ids=lambda rule: rule.name if rule else "none")
def test_to_forget_names_and_epochs_hides_nothing(rule: transaction.Rule | None) -> None:
    named, plain = search(Named(2, rule)), search(Transaction(2, rule))
    assert (named.safe, len(named.story)) == (plain.safe, len(plain.story))


def test_a_story_is_told_step_by_step() -> None:
    told = search(Transaction(alive=1, without=transaction.Rule.GAP_HALTS))
    assert str(told).splitlines()[1:4] == [
        "   1  A0 starts, to write batch 1",
        "   2  A0 fences, and holds epoch 1",
        "   3  A0 reads the marker: 0, so it will write",
    ]
    assert "LOST: batch 1 can be read, batch 0 was left out, after 9 steps" in str(told)


def test_a_search_that_cannot_see_everything_claims_nothing() -> None:
    with pytest.raises(RuntimeError, match="nothing is proven"):
        search(Transaction(alive=3), limit=1_000)


def tell(what: str, verdict: Verdict) -> Verdict:
    print(f"{what}: {verdict}")
    return verdict
