"""A marker is set before the first batch: one that is lost between that batch and its outcome is missed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.dev.topics import admin
from penstock.errors import Refused
from penstock.ledger.ledger import Ledger
from penstock.operate.generation import new_generation, no_marker_lost
from penstock.ranges import Range
from penstock.testing.kafka import DevKafka
from tests.broker.kafka_sink_kit import Shop, key, share_of


@pytest.fixture
def shop(kafka: DevKafka, topic: Callable[..., str], tmp_path: Path) -> Shop:
    return Shop(kafka.bootstrap, str(tmp_path / "rows"), {"alerts": {"topic": topic("out")}})


def _forget(shop: Shop, app: str) -> None:
    client = admin(shop.bootstrap)  # kept until it has answered
    for done in client.delete_consumer_groups([app]).values():
        done.result(30)


def test_before_the_first_batch_the_marker_says_that_none_is_there(shop: Shop, tmp_path: Path) -> None:
    committer, ledger = shop.ready(), Ledger(tmp_path / "state", shop.pipeline, 1)
    first = key(committer, 0)
    assert not committer.has_marker(first.app)
    assert ledger.known(committer, first, None) == -1
    assert ledger.has_begun(committer.name)
    assert committer.has_marker(first.app)
    assert committer.watermark(first.app) is None
    assert committer.story(first.app) is None
    assert ledger.known(committer, first, None) == -1, "a second process finds it"


@pytest.mark.parametrize("batch_id", [0, 4])
def test_the_first_batch_of_a_cluster_follows_the_marker_whatever_its_number(
    shop: Shop, tmp_path: Path, batch_id: int
) -> None:
    committer, ledger = shop.ready(), Ledger(tmp_path / "state", shop.pipeline, 1)
    now = key(committer, batch_id)
    shares = share_of(committer, shop, range(10))
    known = ledger.known(committer, now, None)
    assert committer.commit(shares, now, {}, known)["alerts"].how == "committed"
    assert committer.commit(shares, now, {}, known)["alerts"].how == "recognised"
    assert committer.watermark(now.app) == batch_id


def test_a_marker_lost_before_the_first_outcome_is_refused_by_run_and_by_new_generation(
    shop: Shop, tmp_path: Path
) -> None:
    committer, state = shop.ready(), tmp_path / "state"
    ledger = Ledger(state, shop.pipeline, 1)
    ledger.open(start={("t", 0): 0})
    first = key(committer, 0)
    shares = share_of(committer, shop, range(10))
    ledger.intend(0, (Range("t", 0, 0, 10),), "code")
    committer.commit(shares, first, {}, ledger.known(committer, first, None))
    _forget(shop, first.app)
    with pytest.raises(Refused, match=r"the marker was begun, but group .* has no marker"):
        committer.commit(shares, first, {}, ledger.known(committer, first, None))
    with pytest.raises(Refused, match="batch 0 was begun and has no outcome, and the marker is gone"):
        new_generation(shop.pipeline, state, {committer.name: committer}, "last", "run")
    assert committer.watermark(first.app) is None, "nothing was closed"


def test_a_marker_that_was_only_begun_holds_up_no_new_generation(shop: Shop, tmp_path: Path) -> None:
    committer, state = shop.ready(), tmp_path / "state"
    ledger = Ledger(state, shop.pipeline, 1)
    ledger.open(start={("t", 0): 0})
    first = key(committer, 0)
    ledger.intend(0, (Range("t", 0, 0, 10),), "code")
    ledger.known(committer, first, None)
    no_marker_lost(shop.pipeline, ledger, None, {committer.name: committer})
    assert new_generation(shop.pipeline, state, {committer.name: committer}, "last", "run").start == {("t", 0): 0}
    with pytest.raises(Refused, match="this generation is closed"):
        committer.commit(share_of(committer, shop, range(10)), first, {}, -1)
