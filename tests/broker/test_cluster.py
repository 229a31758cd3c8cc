"""Three brokers, each of them killed in turn: what was committed stays, and what was open can be committed."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from confluent_kafka import Producer

from penstock.testing.cluster import Cluster, cluster
from penstock.testing.kafka import read_all


@pytest.mark.slow
def test_a_topic_with_three_replicas_survives_the_kill_of_each_broker(tmp_path: Path) -> None:
    with cluster(tmp_path) as kafka:
        kafka.create_topic("orders")
        for node in kafka.nodes:
            write_across_a_kill(kafka, node.number)
            kafka.restart(node.number)
            kafka.wait_in_sync("orders")
        found = [record.value for record in read_all(kafka.bootstrap, "orders")]
    assert found == [f"{when} the kill of {number}".encode() for number in (1, 2, 3) for when in ("before", "after")]
    assert not any(node.alive for node in kafka.nodes)
    assert processes_in(tmp_path) == []


def write_across_a_kill(kafka: Cluster, number: int) -> None:
    """One transaction; the broker is killed while it is open."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": f"across-{number}", "log_level": 0})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("orders", f"before the kill of {number}", partition=0)
    assert producer.flush(60) == 0
    kafka.kill(number)
    producer.produce("orders", f"after the kill of {number}", partition=0)
    producer.commit_transaction(60)


def processes_in(folder: Path) -> list[psutil.Process]:
    """Launchers and brokers: each runs in its own folder."""
    found = [process for process in psutil.process_iter(["cwd", "status"]) if process.info["cwd"]]
    living = [process for process in found if process.info["status"] != psutil.STATUS_ZOMBIE]
    return [process for process in living if Path(process.info["cwd"]).is_relative_to(folder)]
