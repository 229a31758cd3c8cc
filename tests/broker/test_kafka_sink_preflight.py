"""Before the first batch, on a broker that forbids things: each is refused with what was found and what to do."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from penstock.errors import SinkRefused, Unavailable
from penstock.sinks.contract import CLOSED
from penstock.sinks.kafka.names import MARKERS
from penstock.testing.harness import wait_until
from penstock.testing.kafka import DevKafka, ensure_topic, read_all, up
from tests.broker.kafka_sink_kit import Shop, child, key, share_of, write

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "transaction.max.timeout.ms": "30000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
}
CLUSTER = "kafka-cluster"
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevKafka]:
    """A broker with access control: we are `User:ANONYMOUS`, and may do what nobody forbade us."""
    broker = up(tmp_path_factory.mktemp("strict"), child=True, extra=SETTINGS)
    yield broker
    broker.stop()


@pytest.fixture
def forbid(strict: DevKafka) -> Iterator[Callable[..., None]]:
    """forbid(AclOperation.WRITE, ResourceType.TOPIC, "out"): everything but that, until the test is over."""
    admin = AdminClient({"bootstrap.servers": strict.bootstrap})

    def take_away(operation: AclOperation, kind: ResourceType, name: str) -> None:
        def entry(what: AclOperation, how: AclPermissionType) -> AclBinding:
            return AclBinding(kind, name, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", what, how)

        entries = [entry(AclOperation.ALL, AclPermissionType.ALLOW), entry(operation, AclPermissionType.DENY)]
        for done in admin.create_acls(entries).values():
            done.result(10)

    yield take_away
    _allow_all(admin)


@pytest.fixture
def out(strict: DevKafka) -> str:
    name = f"out-{next(_numbers)}"
    ensure_topic(strict.bootstrap, name, 2)
    return name


def shop(strict: DevKafka, stage: Path, out: str, **settings: Any) -> Shop:
    return Shop(strict.bootstrap, str(stage), {"alerts": {"topic": out, "timeout": "20 seconds", **settings}})


def refused(made: Shop) -> str:
    with pytest.raises(SinkRefused) as caught:
        made.committer().ready()
    assert "Nothing was written" in str(caught.value)
    return str(caught.value)


def test_the_topic_of_the_markers_is_made_or_the_command_is_named(
    strict: DevKafka, tmp_path: Path, out: str, forbid: Callable[..., None]
) -> None:
    admin = AdminClient({"bootstrap.servers": strict.bootstrap})
    if MARKERS in admin.list_topics(timeout=10).topics:
        admin.delete_topics([MARKERS])[MARKERS].result(10)
        wait_until(lambda: MARKERS not in admin.list_topics(timeout=10).topics, "the topic is gone")
    made = shop(strict, tmp_path, out)
    forbid(AclOperation.CREATE, ResourceType.BROKER, CLUSTER)
    forbid(AclOperation.CREATE, ResourceType.TOPIC, MARKERS)
    assert f"--create --topic {MARKERS} --partitions 1" in refused(made)
    _allow_all(admin)
    made.ready()
    assert len(admin.list_topics(timeout=10).topics[MARKERS].partitions) == 1


def _allow_all(admin: AdminClient) -> None:
    anything: Any = None
    everything = AclBindingFilter(
        ResourceType.ANY,
        anything,
        ResourcePatternType.ANY,
        anything,
        anything,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )
    admin.delete_acls([everything])[everything].result(10)


def test_a_transaction_longer_than_the_brokers_allow_is_refused(strict: DevKafka, tmp_path: Path, out: str) -> None:
    told = refused(shop(strict, tmp_path, out, timeout="60 seconds"))
    assert "`timeout` asks for transactions of 60 seconds, and the brokers allow 30" in told


def test_sinks_that_disagree_on_compression_are_refused(strict: DevKafka, tmp_path: Path, out: str) -> None:
    sinks = {name: {"topic": out, "compression": name, "timeout": "20 seconds"} for name in ("lz4", "zstd")}
    assert "ask for lz4 and zstd" in refused(Shop(strict.bootstrap, str(tmp_path), sinks))


def test_a_topic_that_takes_no_record_is_refused(strict: DevKafka, tmp_path: Path) -> None:
    name = f"insync-{next(_numbers)}"
    ensure_topic(strict.bootstrap, name, 1, {"min.insync.replicas": "2"})
    assert f"topic {name} wants 2 replicas in sync (min.insync.replicas) and has 1" in refused(
        shop(strict, tmp_path, name)
    )


def test_a_dead_letter_topic_that_is_too_small_for_a_reason_is_refused(strict: DevKafka, tmp_path: Path) -> None:
    name = f"dead-{next(_numbers)}"
    ensure_topic(strict.bootstrap, name, 1, {"max.message.bytes": "900"})
    told = refused(Shop(strict.bootstrap, str(tmp_path), {"a": {"topic": name, "timeout": "9 seconds"}}, name))
    assert f"dead-letter topic {name} takes records of 900 bytes" in told


@pytest.mark.parametrize("operation", ["Write", "Read"])
def test_a_missing_permission_on_a_topic_is_named(
    strict: DevKafka, tmp_path: Path, out: str, forbid: Callable[..., None], operation: str
) -> None:
    made = shop(strict, tmp_path, out)
    made.ready()
    topic = {"Write": out, "Read": MARKERS}[operation]
    forbid(AclOperation[operation.upper()], ResourceType.TOPIC, topic)
    told = refused(made)
    assert f"the permission {operation} on topic {topic} is missing" in told
    assert f"--operation {operation} --topic {topic}" in told


def test_limits_that_may_not_be_read_are_taken_to_be_small_with_a_warning(
    strict: DevKafka, tmp_path: Path, out: str, forbid: Callable[..., None]
) -> None:
    forbid(AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, out)
    forbid(AclOperation.DESCRIBE_CONFIGS, ResourceType.BROKER, CLUSTER)
    made = shop(strict, tmp_path, out)
    committer = made.committer()
    brokers, topic = committer.ready()
    assert "DescribeConfigs on the cluster is missing" in brokers
    assert f"DescribeConfigs on topic {out} is missing: records of more than 1,000,000 bytes are rejected" in topic
    assert write(committer, made, 0, range(3)).how == "committed"
    assert committer.renewal_due(key(committer, 0).app) is False


@pytest.mark.parametrize(
    ("operation", "kind", "told"),
    [
        (AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "Write and Describe on transactional id {app}.0"),
        (AclOperation.READ, ResourceType.GROUP, "Read on group {app}"),
    ],
)
def test_a_permission_that_is_missing_later_is_named_and_waited_for(
    strict: DevKafka,
    tmp_path: Path,
    out: str,
    forbid: Callable[..., None],
    operation: AclOperation,
    kind: ResourceType,
    told: str,
) -> None:
    made = shop(strict, tmp_path, out)
    committer = made.committer()
    committer.ready()
    app = key(committer, 0).app
    forbid(operation, kind, f"{app}.0" if kind is ResourceType.TRANSACTIONAL_ID else app)
    with pytest.raises(Unavailable) as caught:
        write(committer, made, 0, range(3))
    assert told.format(app=app) in str(caught.value)
    assert read_all(strict.bootstrap, out) == []
    _allow_all(AdminClient({"bootstrap.servers": strict.bootstrap}))
    assert write(committer, made, 0, range(3)).how == "committed"


def test_a_pipeline_without_transactions_needs_no_permission_for_them(
    strict: DevKafka, tmp_path: Path, out: str, forbid: Callable[..., None]
) -> None:
    made = shop(strict, tmp_path, out, delivery="at_least_once", timeout="2 seconds")
    committer = made.committer()
    app = key(committer, 0).app
    forbid(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, f"{app}.0")
    committer.ready()
    committer.fence(key(committer, 0))
    assert write(committer, made, 0, range(3)).how == "sent"
    committer.close(key(committer, CLOSED))
    assert committer.watermark(app) == CLOSED


def test_a_transaction_that_the_broker_ended_is_tried_again(strict: DevKafka, tmp_path: Path, out: str) -> None:
    made = shop(strict, tmp_path, out, timeout="1 second")
    committer = made.committer()
    committer.ready()
    shares = share_of(committer, made, range(50))
    stopped = child(made, shares, 0, failpoint="stop:after:topics:flush")
    wait_until(lambda: _state(stopped.pid) == "T", "it stopped with its transaction open", 60)
    wait_until(lambda: _undecided(strict, out) == 0, "the broker ended the transaction", 60)
    stopped.send_signal(signal.SIGCONT)
    answer, _ = stopped.communicate(timeout=60)
    assert answer.startswith("Unavailable: ")
    assert "the broker ended the transaction because it took too long" in answer
    assert committer.commit(shares, key(committer, 0), {}, None)["alerts"].how == "committed"
    assert len(read_all(strict.bootstrap, out)) == 50


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def _undecided(strict: DevKafka, topic: str) -> int:
    """Offsets behind an open transaction."""
    from confluent_kafka import IsolationLevel, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    admin = AdminClient({"bootstrap.servers": strict.bootstrap})
    ends = []
    for level in (IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED):
        asked = {TopicPartition(topic, part): OffsetSpec.latest() for part in range(2)}
        ends.append([each.result(10).offset for each in admin.list_offsets(asked, isolation_level=level).values()])
    return sum(all_of - decided for all_of, decided in zip(*ends, strict=True))
