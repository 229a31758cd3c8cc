"""The way to a broker: one that is away, forbids, wants a login or TLS, or sends its clients nowhere is told first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from penstock.dev.ports import free_port
from penstock.operate.doctor.reach import allowed
from penstock.sources.cluster import Cluster
from penstock.testing.harness import wait_until
from penstock.testing.kafka import up
from tests.broker.doctor_kit import Broker, case_of, codes, first, report


@dataclass(frozen=True)
class Strict(Broker):
    """One with permissions, listeners that want a login or TLS, and one that sends its clients nowhere."""

    login: str
    lost: str
    tls: str


def certificate(path: Path) -> Path:
    """A key and a certificate that it signs itself, made for this run."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    signed = made.not_valid_before(now).not_valid_after(now + timedelta(days=1)).sign(key, hashes.SHA256())
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Strict]:
    folder = tmp_path_factory.mktemp("strict")
    port, controller, login, lost, tls = (free_port() for _ in range(5))
    home = folder / ".penstock" / "dev"
    home.mkdir(parents=True)
    (home / "kafka.json").write_text(json.dumps({"port": port, "controller": controller, "child": True}))
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    extra = {
        "listeners": f"PLAINTEXT://127.0.0.1:{port},ASKS://127.0.0.1:{login},LOST://127.0.0.1:{lost},TLS://127.0.0.1:{tls},"
        f"CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},ASKS://127.0.0.1:{login},LOST://127.0.0.1:{free_port()},"
        f"TLS://127.0.0.1:{tls}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ASKS:SASL_PLAINTEXT,LOST:PLAINTEXT,TLS:SSL,"
        "CONTROLLER:PLAINTEXT",
        "listener.name.tls.ssl.keystore.type": "PEM",
        "listener.name.tls.ssl.keystore.location": str(certificate(folder / "broker.pem")),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.asks.plain.sasl.jaas.config": f'{plain} user_ada="secret";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }
    kafka = up(folder, child=True, extra=extra)
    assert kafka.port == port
    yield Strict(kafka, f"127.0.0.1:{login}", f"127.0.0.1:{lost}", f"127.0.0.1:{tls}")
    kafka.stop()


def test_a_topic_that_is_not_there_is_told_with_the_nearest_name(broker: Strict, tmp_path: Path) -> None:
    topic = broker.topic()
    found = first(report(case_of(tmp_path, broker, f"{topic}x")))
    assert (found.code, f"has no topic {topic}x" in found.cause) == ("no_topic", True)
    assert f"the nearest name is {topic}" in found.evidence


def test_a_topic_that_may_not_be_read_is_told_with_the_missing_permission(broker: Strict, tmp_path: Path) -> None:
    topic, cluster = broker.topic(), Cluster(broker.bootstrap)
    assert codes(report(case_of(tmp_path, broker, topic))) == []
    for operation, how in ((AclOperation.ALL, AclPermissionType.ALLOW), (AclOperation.READ, AclPermissionType.DENY)):
        entry = AclBinding(
            ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:ANONYMOUS", "*", operation, how
        )
        [done] = cluster.admin.create_acls([entry]).values()
        done.result(10)
    wait_until(lambda: "READ" not in allowed(cluster, [topic])[topic], "the broker forbids it", 30)
    found = first(report(case_of(tmp_path, broker, topic)))
    assert (found.code, found.cause) == ("no_permission", f"the permission Read on topic {topic} is missing")
    assert "--operation Read" in found.mend[0]


def test_a_broker_that_wants_a_login_is_told_from_one_that_is_away(broker: Strict, tmp_path: Path) -> None:
    topic = broker.topic()
    case = case_of(tmp_path, broker, topic, source={"brokers": [broker.login]})
    found = first(report(case))
    assert (found.code, "wants a login (SASL)" in found.cause) == ("login", True), found


def test_a_broker_that_speaks_tls_is_told_from_one_that_is_away(broker: Strict, tmp_path: Path) -> None:
    found = first(report(case_of(tmp_path, broker, broker.topic(), source={"brokers": [broker.tls]})))
    assert (found.code, "speaks TLS" in found.cause) == ("login", True), found


def test_a_broker_that_sends_its_clients_nowhere_is_told(broker: Strict, tmp_path: Path) -> None:
    found = report(case_of(tmp_path, broker, broker.topic(), source={"brokers": [broker.lost]}))
    assert codes(found) == ["advertised"]
    assert f"{broker.lost} answers, but sends its clients to 127.0.0.1:" in first(found).cause


def test_a_broker_that_is_written_to_and_away_is_told(broker: Strict, tmp_path: Path) -> None:
    topic, nowhere = broker.topic(), f"127.0.0.1:{free_port()}"
    sinks = {"out": {"kafka": {"topic": "out", "brokers": [nowhere]}}}
    found = first(report(case_of(tmp_path, broker, topic, sinks=sinks)))
    assert (found.code, found.cause) == ("broker_away", f"no broker of {nowhere} answers")
    assert "it is written to" in found.evidence[0]
