"""The doctor against a real broker: faults are planted there, and each must be told first; healthy ones yield none."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from penstock.dev.ports import free_port
from penstock.operate.doctor import diagnose
from penstock.operate.doctor.admission import of_checkpoint
from penstock.operate.doctor.reach import allowed
from penstock.sources.groups import publish
from penstock.sources.kafka import Cluster
from penstock.testing.harness import Case, wait_until
from penstock.testing.kafka import DevKafka, delete_records, end_offsets, ensure_topic, produce, up
from penstock.testing.runs import run_once, running
from tests.broker.cases import ids_case, values
from tests.broker.doctor_kit import codes, first, report
from tests.broker.test_foreign_jobs import records, run_to_the_end
from tests.broker.test_lag_of_runs import HELD

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOUR = 3600.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Strict:
    """A broker with permissions, listeners that want a login or TLS, and one that sends its clients nowhere."""

    kafka: DevKafka
    login: str
    lost: str
    tls: str

    @property
    def bootstrap(self) -> str:
        return self.kafka.bootstrap

    def topic(self, partitions: int = 1, **config: str) -> str:
        name = f"ill-{next(_numbers)}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        assert ensure_topic(self.bootstrap, name, partitions, settings)
        return name


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


def case_of(folder: Path, broker: Strict, topic: str, **settings: Any) -> Case:
    return ids_case(folder, broker.bootstrap, topic, pipeline=f"p-{topic}", **settings)


# the way there


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


# partitions


def test_a_hot_partition_is_the_cause_of_what_waits(broker: Strict, tmp_path: Path) -> None:
    topic = broker.topic(partitions=4)
    produce(broker.bootstrap, topic, values(0, 400))
    case = case_of(tmp_path, broker, topic, pace={"max_rows": 1000})
    assert codes(report(case)) == [], "all of it fits into the next batch"
    produce(broker.bootstrap, topic, values(0, 20_000), partition=2)
    found = first(report(case))
    assert found.code == "hot_partition", found
    assert re.search(rf"{topic}-2 holds (9[89]|100)%", found.cause), found  # of the first 400 it may have any number
    assert "task_rows: 25" in found.mend[0]


def test_a_topic_about_to_lose_unread_records_is_told_with_the_setting(broker: Strict, tmp_path: Path) -> None:
    topic = broker.topic(retention_ms="3600000")
    produce(broker.bootstrap, topic, values(0, 50), timestamp_ms=int((time.time() - 40 * 60) * 1000))
    found = first(report(case_of(tmp_path, broker, topic)))
    assert (found.code, found.cause[:6]) == ("retention", "in 20 "), found
    assert "--add-config retention.ms=" in found.mend[0]
    fresh = broker.topic(retention_ms="3600000")
    produce(broker.bootstrap, fresh, values(0, 50))
    assert codes(report(case_of(tmp_path / "fresh", broker, fresh))) == []


def test_records_dated_in_the_future_are_told_by_whose_clock_it_was(broker: Strict, tmp_path: Path) -> None:
    topic = broker.topic()
    produce(broker.bootstrap, topic, values(0, 5), timestamp_ms=int((time.time() + 1800) * 1000))
    found = first(report(case_of(tmp_path, broker, topic)))
    assert (found.code, "a producer's clock is wrong" in found.cause) == ("time_skew", True)
    brokers = broker.topic(message_timestamp_type="LogAppendTime")
    produce(broker.bootstrap, brokers, values(0, 5))
    case = case_of(tmp_path / "brokers", broker, brokers)
    assert codes(report(case)) == []
    late = first(report(case, at=time.time() - 600))  # as on a machine whose clock is ten minutes slow
    assert (late.code, "the clocks differ" in late.cause) == ("time_skew", True)


# settings


def test_settings_of_topics_and_brokers_that_do_not_fit_are_told(broker: Strict, tmp_path: Path) -> None:
    topic, out = broker.topic(), broker.topic()
    case = case_of(tmp_path, broker, topic, sinks={"out": {"kafka": {"topic": out, "timeout": "16 minutes"}}})
    found = first(report(case))
    assert (found.code, "allow 15 min" in found.cause) == ("transaction_timeout", True), found
    assert "timeout: 900 seconds" in found.mend[0]
    short = broker.topic(retention_ms="20000")
    found = first(report(case_of(tmp_path / "short", broker, short, trigger={"every": "10 seconds"})))
    assert (found.code, "keeps records for 20 s" in found.cause) == ("short_retention", True)


# real runs of ours


def test_a_real_pipeline_is_healthy_while_it_runs_and_when_it_was_stopped(
    spark: SparkSession, broker: Strict, tmp_path: Path
) -> None:
    topic, out = broker.topic(partitions=3), broker.topic()
    sinks = {"lake": {"delta": {"table": "./lake/t"}}, "out": {"kafka": {"topic": out}}}
    case = case_of(tmp_path, broker, topic, sinks=sinks, observe={"poll": "200 milliseconds"})
    produce(broker.bootstrap, topic, values(0, 500))
    with running(spark, case) as told:
        told.wait_for_rows(500)
        for batch in range(3):
            produce(broker.bootstrap, topic, values(500 + 100 * batch, 600 + 100 * batch))
            assert codes(report(case)) == []
            told.wait_for_rows(600 + 100 * batch)
    found = report(case)
    assert codes(found) == []
    seen = {"now.json", "history", "ledger", "checkpoint", "lag", "settings", "table lake", "table dead_letters"}
    assert seen <= set(found.seen)
    assert found.unseen == {}
    _forgotten_group(case, broker, topic)
    _records_that_went(case, broker, topic)
    run_once(spark, case, accept_loss=True)
    gap = first(report(case))
    assert (gap.code, "7 offsets" in gap.cause + "".join(gap.evidence)) == ("gap_accepted", True), gap
    _harmed(case)


def _forgotten_group(case: Case, broker: Strict, topic: str) -> None:
    """Its group set back by somebody: Kafka's tools would show the wrong lag."""
    publish(Cluster(broker.bootstrap), f"p-{topic}", {(topic, part): 1 for part in range(3)})
    found = first(report(case))
    assert (found.code, "offsets behind what is committed" in found.cause) == ("group_behind", True)


def _records_that_went(case: Case, broker: Strict, topic: str) -> None:
    """Records deleted before they were read, and a run that therefore stopped."""
    ends = end_offsets(broker.bootstrap, topic)
    produce(broker.bootstrap, topic, values(0, 300))
    delete_records(broker.bootstrap, topic, {0: ends[0] + 7})
    found = report(case)
    assert (first(found).code, "7 offsets" in first(found).cause) == ("records_gone", True)
    assert codes(found)[1] == "behind", "it was stopped, and records wait"


def _harmed(case: Case) -> None:
    """Files of its ledger and of Spark's checkpoint, cut or gone."""
    newest = max((case.state / "ledger").rglob("outcomes/*.json"), key=lambda path: int(path.stem))
    whole = newest.read_bytes()
    newest.write_bytes(whole[:40])
    assert first(report(case)).code == "damaged_ledger"
    newest.write_bytes(whole)
    (case.state / "spark" / "metadata").unlink()
    assert first(report(case)).code == "refused"


def test_rows_too_large_for_their_topic_are_told_with_its_setting(
    spark: SparkSession, broker: Strict, tmp_path: Path
) -> None:
    topic, out = broker.topic(), broker.topic(max_message_bytes="2000")
    decode = {"json": {"schema": "id BIGINT, text STRING"}}
    case = case_of(tmp_path, broker, topic, decode=decode, sinks={"out": {"kafka": {"topic": out}}})
    produce(broker.bootstrap, topic, [b'{"id": %d, "text": "%s"}' % (n, b"x" * 3000) for n in range(40)])
    run_once(spark, case)
    found = report(case)
    assert codes(found) == ["message_size", "reject_rate"]
    assert f"--entity-name {out}" in first(found).mend[0]


@pytest.mark.slow  # a process of its own, to be killed
def test_a_process_stopped_then_killed_in_mid_batch_is_the_cause(broker: Strict, tmp_path: Path) -> None:
    topic = broker.topic()
    (tmp_path / "held_back.py").write_text(HELD.format(go=str(tmp_path / "never")))
    case = case_of(tmp_path, broker, topic, steps=[{"python": "held_back:held"}], observe={"poll": "200 milliseconds"})
    produce(broker.bootstrap, topic, values(0, 300))
    process = case.start()
    try:
        process.wait_for("batch_started")
        wait_until(lambda: b'"pass"' in (case.state / "progress" / "now.json").read_bytes(), "it has told its phase")
        assert codes(report(case)) == []
        process.signal(signal.SIGSTOP)
        silent = first(report(case, at=time.time() + 600))
        assert (silent.code, f"kill -9 {process.popen.pid}" in silent.mend[0]) == ("silent", True), silent
    finally:
        process.kill()
    found = first(report(case))
    assert (found.code, "in the middle of batch 0" in found.cause) == ("killed", True), found
    assert any("offsets are ahead of commits" in line for line in found.evidence)


# jobs that penstock never ran


def asked(checkpoint: Path, broker: Strict, *more: str) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "penstock", "doctor", "--checkpoint", str(checkpoint), "--json"]
    done = subprocess.run(
        [*command, "--brokers", broker.bootstrap, *more], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow  # two runs of a plain job into a table
def test_a_plain_spark_job_is_healthy_then_dead_then_loses_records(
    spark: SparkSession, broker: Strict, tmp_path: Path
) -> None:
    topic, checkpoint, table = broker.topic(partitions=2), tmp_path / "checkpoint", tmp_path / "table"
    for number in range(2):
        produce(broker.bootstrap, topic, [b"v"] * 60)
        run_to_the_end(records(spark, broker.kafka, topic).selectExpr("CAST(value AS STRING) AS v"), checkpoint, table)
        shutil.copytree(checkpoint, tmp_path / ("old" if number == 0 else "new"))
    assert asked(tmp_path / "old", broker, "--table", str(table))[1]["findings"][0]["code"] == "table_ahead"
    (tmp_path / "old" / "offsets" / "0").write_bytes(b"")
    assert asked(tmp_path / "old", broker)[1]["findings"][0]["code"] == "damaged_checkpoint"
    code, found = asked(checkpoint, broker, "--table", str(table))
    assert (code, found["findings"]) == (0, [])
    assert {"checkpoint", "brokers", "lag", "table table"} <= set(found["seen"])
    produce(broker.bootstrap, topic, [b"v"] * 500)
    for path in (checkpoint / "commits").iterdir():
        os.utime(path, (time.time() - 3 * HOUR, time.time() - 3 * HOUR))
    code, found = asked(checkpoint, broker)
    assert (code, found["findings"][0]["code"]) == (5, "behind")
    assert "its last commit is 3.0 h old, and 500 rows wait" in found["cause"]
    delete_records(broker.bootstrap, topic, {0: end_offsets(broker.bootstrap, topic)[0]})
    code, found = asked(checkpoint, broker)
    assert (code, found["findings"][0]["code"]) == (5, "records_gone")


def test_a_plain_job_that_cannot_keep_up_is_told_by_what_comes_and_what_it_reads(
    broker: Strict, tmp_path: Path
) -> None:
    """Its logs are as Spark writes them: sixty batches back to back, ten rows a second."""
    topic = broker.topic()
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    (tmp_path / "metadata").write_text('{"id":"7a0e3b6c-0000-4000-8000-000000000000"}')
    for number in range(60):
        at = time.time() - 600 + 10 * number
        about = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": int(at * 1000), "conf": {}})
        ends = json.dumps({topic: {"0": 100 * (number + 1)}})
        (tmp_path / "offsets" / str(number)).write_text(f"v1\n{about}\n{ends}")
        (tmp_path / "commits" / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        os.utime(tmp_path / "offsets" / str(number), (at, at))
        os.utime(tmp_path / "commits" / str(number), (at + 9.9, at + 9.9))
    produce(broker.bootstrap, topic, [b"v"] * 6000)
    assert diagnose(of_checkpoint(tmp_path, broker.bootstrap)).findings == (), "it has read all of it"
    produce(broker.bootstrap, topic, [b"v"] * 12_000)
    found = first(diagnose(of_checkpoint(tmp_path, broker.bootstrap)))
    assert (found.code, "12,000 rows wait" in found.evidence[0]) == ("under_provisioned", True), found
