"""The proxy before a real broker: what it can do to Kafka's requests, and what becomes of a transaction then."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from penstock.dev.topics import admin
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, read_all
from penstock.testing.proxy import Api, Held, Proxy, proxied_kafka

REFUSED = ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")
SHORT = 1.5
"""Seconds that a client waits for what the proxy keeps from it."""
QUICK = {"enable.sparse.connections": False, "retry.backoff.ms": 10, "reconnect.backoff.ms": 10, "log_level": 0}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DevKafka, Proxy]]:
    with proxied_kafka(tmp_path_factory.mktemp("proxied")) as both:
        yield both


@dataclass
class Scene:
    """A topic, a group and a transactional id that no other test uses, on both sides of the proxy."""

    kafka: DevKafka
    proxy: Proxy
    name: str

    def producer(self, client: str = "producer") -> Producer:
        """A new transactional producer behind the proxy, initialised: it has fenced those before it."""
        names = {"transactional.id": self.name, "client.id": client}
        producer = Producer({"bootstrap.servers": self.proxy.bootstrap, **names, **QUICK})
        producer.init_transactions(20)
        return producer

    def whole_batch(self, producer: Producer, value: str, seconds: float = 20) -> None:
        """A transaction with one record and the marker 1, committed; raises when a step takes too long."""
        self.write(producer, value)
        if producer.flush(seconds):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        self.mark(producer, 1, seconds)
        producer.commit_transaction(seconds)

    def write(self, producer: Producer, *values: str) -> None:
        """A transaction with these values, up to its EndTxn."""
        producer.begin_transaction()
        for value in values:
            producer.produce(self.name, value, partition=0)

    def mark(self, producer: Producer, offset: int, seconds: float = 20) -> None:
        group = Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": self.name, "log_level": 0})
        try:
            at = [TopicPartition(self.name, 0, offset)]
            producer.send_offsets_to_transaction(at, group.consumer_group_metadata(), seconds)
        finally:
            group.close()

    def marker(self) -> int:
        """The group's offset, once its coordinator is there: a new broker takes a moment to make one."""
        group = Consumer({"bootstrap.servers": self.kafka.bootstrap, "group.id": self.name, "log_level": 0})

        def look() -> list[TopicPartition]:
            try:
                return list(group.committed([TopicPartition(self.name, 0)], 20))
            except KafkaException as error:
                if error.args[0].name() not in ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"):
                    raise
                return []

        try:
            return int(wait_until(look, "the group has a coordinator")[0].offset)
        finally:
            group.close()

    def values(self) -> list[str]:
        """What a reader of committed records finds, without the proxy."""
        return [(record.value or b"").decode() for record in read_all(self.kafka.bootstrap, self.name)]


_numbers = itertools.count(1)


@pytest.fixture
def scene(proxied: tuple[DevKafka, Proxy]) -> Iterator[Scene]:
    yield new_scene(*proxied)
    proxied[1].reset()


def new_scene(kafka: DevKafka, proxy: Proxy) -> Scene:
    name = f"scene-{next(_numbers)}."
    ensure_topic(kafka.bootstrap, name, partitions=1)
    scene = Scene(kafka, proxy, name)
    assert (
        scene.marker() < 0
    )  # and the group's coordinator is there: without it send_offsets may hang (librdkafka 5456)
    return scene


def test_clients_of_the_proxy_stay_with_it_and_others_go_round_it(scene: Scene) -> None:
    through = admin(scene.proxy.bootstrap).list_topics(timeout=20)
    round_it = admin(scene.kafka.bootstrap).list_topics(timeout=20)
    assert [broker.port for broker in through.brokers.values()] == [scene.proxy.port]
    assert [broker.port for broker in round_it.brokers.values()] == [scene.kafka.port]


def test_requests_are_counted_by_their_kind(scene: Scene) -> None:
    producer = scene.producer()
    for value in ("one", "two", "three"):
        scene.write(producer, value)
        producer.commit_transaction(20)
    assert scene.proxy.count(Api.EndTxn) == 3
    assert scene.proxy.count(Api.TxnOffsetCommit) == 0


@pytest.mark.parametrize(
    "api", [Api.Produce, Api.AddOffsetsToTxn, Api.TxnOffsetCommit, Api.EndTxn], ids=lambda api: api.name
)
def test_a_held_request_is_refused_once_a_fresh_producer_has_taken_over(scene: Scene, api: Api) -> None:
    scene.proxy.hold(api, of="abandoned")
    with ThreadPoolExecutor(1) as pool:
        abandoned = pool.submit(scene.whole_batch, scene.producer("abandoned"), "first try", 60)
        held = scene.proxy.wait_until_held(api)
        scene.whole_batch(scene.producer("fresh"), "second try")
        scene.producer("last")  # its init waits until all before it is decided
        assert error_of(held) in REFUSED
        assert isinstance(abandoned.exception(60), KafkaException)
    assert (scene.values(), scene.marker()) == (["second try"], 1)


def test_a_held_request_is_delivered_even_after_its_client_was_killed(scene: Scene) -> None:
    scene.proxy.hold(Api.EndTxn)
    code = (
        "import sys; from confluent_kafka import Producer; at, name = sys.argv[1:]\n"
        "p = Producer({'bootstrap.servers': at, 'transactional.id': name}); p.init_transactions(20)\n"
        "p.begin_transaction(); p.produce(name, 'sent'); p.commit_transaction(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, scene.proxy.bootstrap, scene.name]) as client:
        held = scene.proxy.wait_until_held(Api.EndTxn)
        client.kill()
    wait_until(lambda: not held.client_is_there(), "the client's connection is gone")
    assert scene.values() == []
    assert error_of(held) == "NO_ERROR"
    wait_until(lambda: scene.values() == ["sent"], "the transaction is committed")


def test_a_late_end_of_a_reused_producer_commits_half_of_its_next_transaction(scene: Scene) -> None:
    """Why every transaction gets a producer of its own: the epoch is the same, so the broker cannot tell them apart."""
    scene.proxy.lose(Api.EndTxn)
    reused = scene.producer("reused")
    scene.write(reused, "batch 0")
    reused.commit_transaction(20)  # the client asks again, on a new connection
    scene.write(reused, "half of batch 1")
    reused.flush(20)
    assert error_of(scene.proxy.wait_until_held(Api.EndTxn)) == "NO_ERROR"
    wait_until(lambda: scene.values() == ["batch 0", "half of batch 1"], "the torn batch can be read")


def test_a_repeated_end_changes_nothing_and_is_refused_once_a_fresh_producer_is_there(scene: Scene) -> None:
    scene.proxy.copy(Api.EndTxn)
    scene.whole_batch(scene.producer("first"), "batch 0")
    repeated = scene.proxy.wait_until_held(Api.EndTxn)
    wait_until(lambda: error_of(repeated) == "NO_ERROR", "the broker takes it for the same end once more")
    fresh = scene.producer("second")
    scene.write(fresh, "half of batch 1")
    fresh.flush(20)
    assert error_of(repeated) in REFUSED
    assert scene.values() == ["batch 0"]


def test_a_commit_whose_answer_is_lost_is_a_commit_all_the_same(scene: Scene) -> None:
    producer = scene.producer("unlucky")
    scene.proxy.lose_answer(Api.EndTxn, times=None, of="unlucky")
    with pytest.raises(KafkaException):
        scene.whole_batch(producer, "sent", SHORT)
    assert scene.proxy.wait_until_held(Api.EndTxn).answer is not None
    scene.producer("next")  # its init waits until the transaction is decided
    assert (scene.values(), scene.marker()) == (["sent"], 1)


def test_a_producer_whose_answer_is_held_has_fenced_the_one_before_it(scene: Scene) -> None:
    old = scene.producer("old")
    scene.write(old, "too late")
    old.flush(20)
    scene.proxy.hold_answer(Api.InitProducerId, of="new", times=None)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(scene.producer, "new")
        held = scene.proxy.wait_until_held(Api.InitProducerId)
        with pytest.raises(KafkaException) as refused:
            old.commit_transaction(20)
        assert refused.value.args[0].code() == KafkaError._FENCED
        scene.proxy.clear()
        held.release()
        scene.whole_batch(starting.result(30), "in time")
    assert scene.values() == ["in time"]


def test_a_lost_produce_is_sent_again_and_arrives_once(scene: Scene) -> None:
    scene.proxy.lose(Api.Produce)
    scene.whole_batch(scene.producer("patient"), "once")
    assert scene.proxy.count(Api.Produce) == 2
    assert scene.values() == ["once"]


def test_a_delayed_request_lets_others_pass(scene: Scene) -> None:
    quick = new_scene(scene.kafka, scene.proxy)
    scene.proxy.delay(Api.EndTxn, seconds=3, of=scene.name)
    slow = scene.producer("slow")
    scene.write(slow, "sent first")
    slow.flush(20)
    with ThreadPoolExecutor(1) as pool:
        committing = pool.submit(slow.commit_transaction, 30)
        scene.proxy.wait_for_count(Api.EndTxn, 1)
        quick.whole_batch(quick.producer("quick"), "sent second")
        assert (scene.values(), quick.values()) == ([], ["sent second"])
        committing.result()
    assert scene.values() == ["sent first"]


def test_nobody_reaches_the_broker_while_it_is_cut_off(scene: Scene) -> None:
    producer = scene.producer("cut off")
    with scene.proxy.cut_off(), pytest.raises(KafkaException):
        scene.whole_batch(producer, "lost", SHORT)
    assert scene.values() == []
    scene.whole_batch(scene.producer("back"), "after")
    assert scene.values() == ["after"]


def test_waiting_in_vain_tells_what_came_instead(scene: Scene) -> None:
    scene.producer("idle")
    with pytest.raises(AssertionError, match=r"in vain for EndTxn; there came .*InitProducerId 1"):
        scene.proxy.wait_until_held(Api.EndTxn, timeout=0.1)


def error_of(held: Held) -> str:
    """What the broker says when it is released."""
    answer = held.release()
    assert answer is not None, f"no answer to {held}"
    return answer.error
