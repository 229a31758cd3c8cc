"""Our transactions behind a proxy that holds, repeats and loses what they ask: every row once, whatever comes late."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from penstock.dev.records import read_all
from penstock.testing.kafka import DevKafka, ensure_topic
from penstock.testing.proxy import Api, Proxy, proxied_kafka
from tests.broker.kafka_sink_kit import Shop, child, key, share_of, write


class Scene(NamedTuple):
    kafka: DevKafka
    proxy: Proxy
    near: Shop
    """Goes through the proxy."""
    far: Shop
    """The same pipeline, straight to the broker."""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DevKafka, Proxy]]:
    with proxied_kafka(tmp_path_factory.mktemp("held")) as pair:
        yield pair


@pytest.fixture
def scene(held: tuple[DevKafka, Proxy], tmp_path: Path) -> Iterator[Scene]:
    kafka, proxy = held
    topic = f"out-{tmp_path.name.replace('_', '-')}"[:200]
    ensure_topic(kafka.bootstrap, topic, 1)
    far = Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": topic, "timeout": "15 seconds"}})
    near = Shop(proxy.bootstrap, far.stage, far.sinks, None, far.pipeline)
    far.ready()
    yield Scene(kafka, proxy, near, far)
    proxy.clear()


def ids(scene: Scene) -> list[int]:
    import json

    topic = scene.far.sinks["alerts"]["topic"]
    return [json.loads(record.value or b"")["id"] for record in read_all(scene.kafka.bootstrap, topic)]


@pytest.mark.parametrize("api", [Api.EndTxn, Api.TxnOffsetCommit, Api.AddOffsetsToTxn, Api.Produce])
def test_what_was_held_and_comes_after_another_attempt_changes_nothing(scene: Scene, api: Api) -> None:
    shares = share_of(scene.far.ready(), scene.far, range(100))
    scene.proxy.hold(api)
    slow = child(scene.near, shares, 0)
    try:
        late = scene.proxy.wait_until_held(api, 60)
        fast = scene.far.committer()
        receipt = fast.commit(shares, key(fast, 0), {}, None)["alerts"]
        assert receipt.how == "committed"
        answer = late.release()
        assert answer is None or answer.error != "NO_ERROR"
        write(fast, scene.far, 1, range(100, 150))
    finally:
        scene.proxy.clear()
        told, _ = slow.communicate(timeout=120)
    assert "recognised" in told or "committed" in told or "Unavailable" in told or "Refused" in told, told
    assert ids(scene) == list(range(150))


def test_an_end_that_is_asked_for_twice_is_one_end(scene: Scene) -> None:
    scene.proxy.copy(Api.EndTxn, times=2)
    made = scene.near.committer()
    for batch in range(3):
        write(made, scene.near, batch, range(batch * 10, batch * 10 + 10))
    assert ids(scene) == list(range(30))


def test_a_commit_whose_answer_is_lost_is_found_by_its_marker(scene: Scene) -> None:
    shares = share_of(scene.far.ready(), scene.far, range(40))
    scene.proxy.hold_answer(Api.EndTxn)
    with ThreadPoolExecutor(1) as pool:
        made = scene.near.committer()
        trying = pool.submit(made.commit, shares, key(made, 0), {}, None)
        scene.proxy.wait_until_held(Api.EndTxn, 60).drop()
        scene.proxy.clear()
        trying.exception(timeout=120)
    again = scene.far.committer()
    assert again.commit(shares, key(again, 0), {}, None)["alerts"].how == "recognised"
    assert ids(scene) == list(range(40))
