"""A source that may not be read is refused before anything starts, with the permission that is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from penstock import Kafka
from penstock.errors import Refused
from penstock.sources.cluster import Cluster
from penstock.testing.harness import wait_until
from penstock.testing.kafka import ensure_topic, up

STRICT = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
}


def _refusal(cluster: Cluster, source: Kafka) -> str:
    try:
        cluster.origin_of(source)
    except Refused as refused:
        return str(refused)
    return ""


def test_a_topic_that_may_not_be_read_is_refused_with_the_missing_permission(tmp_path: Path) -> None:
    broker = up(tmp_path, child=True, extra=STRICT)
    try:
        ensure_topic(broker.bootstrap, "orders", 1)
        source = Kafka(brokers=(broker.bootstrap,), topics=("orders",))
        cluster = Cluster(broker.bootstrap)
        assert list(cluster.origin_of(source).topics) == ["orders"]
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        for operation, how in (
            (AclOperation.ALL, AclPermissionType.ALLOW),
            (AclOperation.READ, AclPermissionType.DENY),
        ):
            entry = AclBinding(
                ResourceType.TOPIC, "orders", ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, how
            )
            [done] = admin.create_acls([entry]).values()
            done.result(10)
        text = wait_until(lambda: _refusal(cluster, source), "the broker forbids it", 30)
        assert "the permission to read topic orders" in text
        assert "Grant Read and Describe on the topics" in text
        with pytest.raises(Refused):
            cluster.origin_of(source)
    finally:
        broker.stop()
