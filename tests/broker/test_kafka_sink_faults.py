"""Killed, stopped, raced, fenced: at every step of a transaction a batch is there once, whole, or not at all."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from penstock.errors import PenstockError, TableChanged
from penstock.sinks.contract import CLOSED
from penstock.sinks.kafka import client
from penstock.sinks.kafka import committer as committer_module
from penstock.sinks.kafka.attempt import Attempt
from penstock.sinks.kafka.names import transactional_id
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, read_all, up
from tests.broker.kafka_sink_kit import COLUMNS, Shop, child, key, share_of, witness, write

STEPS = ("fence", "check", "produce", "flush", "marker", "commit")
PLACES = [f"{when}:topics:{step}" for step in STEPS for when in ("before", "after")]
ROWS = 50


@pytest.fixture
def out(topic: Callable[..., str]) -> str:
    return topic("out")


@pytest.fixture
def shop(kafka: DevKafka, out: str, tmp_path: Path) -> Shop:
    return Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": out}})


def share(number: int) -> range:
    return range(ROWS * number, ROWS * (number + 1))


def test_killed_at_any_step_a_batch_is_visible_once(kafka: DevKafka, out: str, shop: Shop) -> None:
    committer = shop.ready()
    with witness(kafka.bootstrap, out) as reader:
        for batch_id, place in enumerate(PLACES):
            shares = share_of(committer, shop, share(batch_id))
            killed = child(shop, shares, batch_id, failpoint=place)
            told, _ = killed.communicate(timeout=60)
            assert killed.returncode == -signal.SIGKILL, f"{place}: {told}"
            receipt = committer.commit(shares, key(committer, batch_id), {}, batch_id - 1 if batch_id else None)
            done = place == "after:topics:commit"
            assert receipt["alerts"].how == ("recognised" if done else "committed"), place
        reader.catch_up()
    assert reader.ids == dict.fromkeys(range(ROWS * len(PLACES)), 1)


def test_without_the_marker_the_same_kill_doubles_a_batch(kafka: DevKafka, out: str, tmp_path: Path) -> None:
    """The negative control: the fault bites."""
    loose = Shop(kafka.bootstrap, str(tmp_path), {"alerts": {"topic": out, "delivery": "at_least_once"}})
    committer = loose.ready()
    shares = share_of(committer, loose, share(0))
    killed = child(loose, shares, 0, failpoint="after:topics:send")
    told, _ = killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL, told
    assert committer.commit(shares, key(committer, 0), {}, None)["alerts"].how == "sent"
    assert len(read_all(kafka.bootstrap, out)) == 2 * ROWS


def test_attempts_at_the_same_batches_at_once_leave_one_copy(kafka: DevKafka, out: str, shop: Shop) -> None:
    committer = shop.ready()
    with witness(kafka.bootstrap, out) as reader:
        for batch_id in range(2):
            shares = share_of(committer, shop, share(batch_id))
            rivals = [child(shop, shares, batch_id) for _ in range(3)]
            told = [rival.communicate(timeout=90)[0].strip() for rival in rivals]
            hows = {each for each in told if not each.startswith("Unavailable: ")}
            assert hows <= {"committed", "recognised"}, told
            committer.commit(shares, key(committer, batch_id), {}, batch_id - 1 if batch_id else None)
        reader.catch_up()
    assert reader.ids == dict.fromkeys(range(2 * ROWS), 1)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("before:topics:fence", "Refused: "),
        ("after:topics:fence", "Refused: "),
        ("after:topics:check", "Refused: "),
        ("after:topics:flush", "Refused: "),
        ("before:topics:commit", "Refused: "),
        ("after:topics:commit", "committed"),
    ],
)
def test_an_attempt_that_was_stopped_finds_that_others_went_on(
    kafka: DevKafka, out: str, shop: Shop, place: str, told: str
) -> None:
    committer = shop.ready()
    shares = share_of(committer, shop, share(0))
    stopped = child(shop, shares, 0, failpoint=f"stop:{place}")
    wait_until(lambda: _stopped(stopped.pid), f"it stopped at {place}", 60)
    committer.commit(shares, key(committer, 0), {}, None)
    write(committer, shop, 1, share(1))
    stopped.send_signal(signal.SIGCONT)
    answer, _ = stopped.communicate(timeout=90)
    assert answer.startswith(told), answer
    assert told == "committed" or "stale: batch 1 is there already" in answer
    assert len(read_all(kafka.bootstrap, out)) == 2 * ROWS


def test_an_attempt_that_was_fenced_takes_what_the_other_did_for_its_own(kafka: DevKafka, out: str, shop: Shop) -> None:
    committer = shop.ready()
    shares = share_of(committer, shop, share(0))
    stopped = child(shop, shares, 0, failpoint="stop:after:topics:flush")
    wait_until(lambda: _stopped(stopped.pid), "it stopped with its transaction open", 60)
    assert committer.commit(shares, key(committer, 0), {}, None)["alerts"].how == "committed"
    stopped.send_signal(signal.SIGCONT)
    assert stopped.communicate(timeout=90)[0].strip() == "recognised"
    assert len(read_all(kafka.bootstrap, out)) == ROWS


def test_an_attempt_fenced_by_one_that_died_is_tried_again(
    kafka: DevKafka, out: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committer_module, "SETTLE_SECONDS", 0.5)
    committer = shop.ready()
    shares = share_of(committer, shop, share(0))
    fence = Attempt.fence

    def and_then_fenced(attempt: Attempt) -> None:
        fence(attempt)
        name = transactional_id(attempt.key.app)
        Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": name}).init_transactions(30)

    monkeypatch.setattr(Attempt, "fence", and_then_fenced)
    with pytest.raises(PenstockError, match="another attempt took over") as caught:
        committer.commit(shares, key(committer, 0), {}, None)
    assert "Nothing of this batch is visible" in str(caught.value)
    monkeypatch.undo()
    assert committer.commit(shares, key(committer, 0), {}, None)["alerts"].how == "committed"
    assert len(read_all(kafka.bootstrap, out)) == ROWS


def test_a_driver_left_over_from_a_closed_generation_can_commit_nothing(kafka: DevKafka, out: str, shop: Shop) -> None:
    committer = shop.ready()
    shares = share_of(committer, shop, share(0))
    left_over = child(shop, shares, 0, failpoint="stop:before:topics:commit")
    wait_until(lambda: _stopped(left_over.pid), "it stopped before its commit", 60)
    committer.close(key(committer, CLOSED))
    left_over.send_signal(signal.SIGCONT)
    answer, _ = left_over.communicate(timeout=90)
    assert "this generation is closed" in answer
    assert read_all(kafka.bootstrap, out) == []
    assert committer.watermark(key(committer, 0).app) == CLOSED


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_topic_that_takes_less_than_when_the_rows_were_frozen_has_the_batch_computed_again(
    kafka: DevKafka, topic: Callable[..., str], tmp_path: Path, delivery: str
) -> None:
    small = topic("small", **{"max.message.bytes": "20000"})
    sink = {"topic": small, "compression": "none", "delivery": delivery}
    shop = Shop(kafka.bootstrap, str(tmp_path), {"alerts": sink})
    committer = shop.ready()
    shares = share_of(committer, shop, share(0))
    _set(kafka, small, "max.message.bytes", "150")
    with pytest.raises(TableChanged, match="took records of 20,000 bytes, and takes 150 now"):
        committer.commit(shares, key(committer, 0), {}, None)
    with pytest.raises(TableChanged, match="took records of 20,000 bytes, and takes 150 now"):
        committer.verify(shares, key(committer, 0))
    assert committer.prepare("alerts", COLUMNS, tmp_path).limits == {small: 150}  # type: ignore[attr-defined]
    assert read_all(kafka.bootstrap, small) == []


def test_a_topic_that_is_gone_since_the_rows_were_frozen_has_the_batch_computed_again(
    kafka: DevKafka, out: str, shop: Shop
) -> None:
    committer = shop.ready()
    shares = share_of(committer, shop, share(0))
    _delete(kafka, out)
    with pytest.raises(TableChanged, match=f"topic {out} is gone"):
        committer.verify(shares, key(committer, 0))


def test_rows_of_many_more_bytes_than_the_client_holds_are_all_sent(
    kafka: DevKafka, out: str, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "QUEUE_BYTES", 1024)
    committer = shop.ready()
    assert write(committer, shop, 0, range(5_000)).rows == 5_000
    assert len(read_all(kafka.bootstrap, out)) == 5_000


def test_a_fence_frees_the_readers_of_what_a_crash_left_open(kafka: DevKafka, out: str, shop: Shop) -> None:
    committer = shop.ready()
    write(committer, shop, 0, share(0))
    killed = child(shop, share_of(committer, shop, share(1)), 1, failpoint="after:topics:flush")
    assert killed.wait(60) == -signal.SIGKILL
    committer.fence(key(committer, 1))
    with witness(kafka.bootstrap, out) as reader:
        reader.catch_up()
    assert reader.ids == dict.fromkeys(share(0), 1)


def test_a_broker_that_dies_before_the_commit_and_comes_back_has_the_batch_once(folder: Path, tmp_path: Path) -> None:
    broker = up(folder, child=True)
    ensure_topic(broker.bootstrap, "out", 2)
    shop = Shop(broker.bootstrap, str(tmp_path), {"alerts": {"topic": "out"}})
    committer = shop.ready()
    shares = share_of(committer, shop, share(0))
    stopped = child(shop, shares, 0, failpoint="stop:before:topics:commit")
    wait_until(lambda: _stopped(stopped.pid), "it stopped before its commit", 60)
    broker.kill()
    stopped.send_signal(signal.SIGCONT)
    assert up(folder, child=True).bootstrap == broker.bootstrap
    assert stopped.communicate(timeout=90)[0].strip() == "committed"
    assert committer.commit(shares, key(committer, 0), {}, None)["alerts"].how == "recognised"
    assert len(read_all(broker.bootstrap, "out")) == ROWS


def _stopped(pid: int) -> bool:
    """Does the kernel say that this process was stopped by a signal?"""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def _set(kafka: DevKafka, topic: str, name: str, value: str) -> None:
    from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    asked = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.incremental_alter_configs([asked])[asked].result(10)


def _delete(kafka: DevKafka, topic: str) -> None:
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    admin.delete_topics([topic])[topic].result(10)
    wait_until(lambda: topic not in admin.list_topics(timeout=10).topics, "the topic is gone", 30)
